"""Compares our published descriptions with the models of Microsoft's published Python client.

usage: rp_models.py FOLDER VERSION... where FOLDER/VERSION/redhatopenshift.json is our description. Prints a JSON object that has
of each version how many members were compared, and the differences: lines `theirs MODEL.MEMBER …` for what the client has and
the description has not (or has otherwise), and `ours …` for the reverse.
"""

import enum
import importlib
import json
import pathlib
import sys

from azure.mgmt.redhatopenshift import __version__ as package


def models_of(version):
    if package >= "2":
        return importlib.import_module("azure.mgmt.redhatopenshift.models")
    name = "v" + version.replace("-", "_")
    return importlib.import_module(f"azure.mgmt.redhatopenshift.{name}.models")


def facts_of_fields(model):
    """Of a model whose members are fields: the client of TypeSpec."""
    facts = {}
    for base in reversed(model.__mro__):
        for name, hint in getattr(base, "__annotations__", {}).items():
            field = base.__dict__.get(name)
            if type(field).__name__ != "_RestField":
                continue
            # A member without a name of its own is called as in Python until the first object is made.
            required = not any(word in str(hint) for word in ("Optional[", "NoneType"))
            facts[field._rest_name_input or name] = (field._visibility == ["read"], required)
    return facts


def facts_of_map(model):
    """Of a model with a table of its members; those of `properties` stand in it, flattened."""
    validation = getattr(model, "_validation", {})
    facts = {}
    for name, how in model._attribute_map.items():
        rules = validation.get(name, {})
        facts[how["key"]] = (bool(rules.get("readonly")), bool(rules.get("required")))
    return facts


def theirs(version):
    """Members of models, each with (read-only, required), and values of enumerations."""
    models, enums = {}, {}
    for name, found in vars(models_of(version)).items():
        if not isinstance(found, type):
            continue
        if issubclass(found, enum.Enum):
            enums[name] = {value.value for value in found}
        elif hasattr(found, "_attribute_map") and found._attribute_map:
            models[name] = facts_of_map(found)
        elif name[0] != "_" and (facts := facts_of_fields(found)):
            models[name] = facts
    return models, enums


def members(document, folder, schema):
    """Of a schema with what it is made of: members with (read-only, required)."""
    facts = {}
    for part in schema.get("allOf", []):
        facts.update(members(*resolved(document, folder, part)))
    required = schema.get("required", [])
    for name, member in schema.get("properties", {}).items():
        if member.get("x-ms-client-flatten") and package < "2":
            for inner, how in members(*resolved(document, folder, member)).items():
                facts[f"{name}.{inner}"] = how
        else:
            facts[name] = (bool(member.get("readOnly")), name in required)
    return facts


def resolved(document, folder, schema):
    """What a reference leads to; a schema of another file is not ours to describe."""
    reference = schema.get("$ref", "")
    if reference.startswith("#/definitions/"):
        return document, folder, document["definitions"][reference.removeprefix("#/definitions/")]
    return document, folder, {} if reference else schema


def enums_of(schema, found):
    if isinstance(schema, dict):
        name = schema.get("x-ms-enum", {}).get("name")
        if name and "enum" in schema:
            found[name] = set(schema["enum"])
        for inner in schema.values():
            enums_of(inner, found)
    elif isinstance(schema, list):
        for inner in schema:
            enums_of(inner, found)
    return found


def compared(folder, version):
    document = json.loads((folder / version / "redhatopenshift.json").read_text())
    their_models, their_enums = theirs(version)
    count, lines = 0, []
    for name, schema in document["definitions"].items():
        if "properties" not in schema and "allOf" not in schema:
            continue
        # Classes begin with a capital.
        their_name = name[0].upper() + name[1:]
        if their_name not in their_models:
            lines.append(f"ours {name}")
            continue
        their, our = their_models[their_name], members(document, folder, schema)
        outside = any(not part.get("$ref", "#").startswith("#") for part in schema.get("allOf", []))
        for member in sorted(their.keys() | our.keys()):
            count += 1
            if member not in our:
                # Members of common types stand in another file.
                if not outside:
                    lines.append(f"theirs {name}.{member}")
            elif member not in their:
                lines.append(f"ours {name}.{member}")
            else:
                for what, theirs_is, ours_is in zip(("read-only", "required"), their[member], our[member]):
                    if theirs_is != ours_is:
                        lines.append(f"{'theirs' if theirs_is else 'ours'} {name}.{member} is {what}")
    for name, values in enums_of(document["definitions"], {}).items():
        count += len(values)
        if name not in their_enums:
            lines.append(f"ours {name}")
            continue
        lines += [f"theirs {name} = {value}" for value in their_enums[name] - values]
        lines += [f"ours {name} = {value}" for value in values - their_enums[name]]
    return {"compared": count, "differences": sorted(set(lines))}


def main():
    folder = pathlib.Path(sys.argv[1])
    print(json.dumps({version: compared(folder, version) for version in sys.argv[2:]}, indent=1))


main()
