"""Every operation of the published client against our API.

Arguments: a JSON object {url, ca, id, body, other, versions, location, made}: where the API is, the PEM of its authority, a
cluster's resource id, a body that makes it, a subscription with several pages of clusters, the API versions to speak, our
region. Prints one JSON object of what was seen. Any deviation is an assertion.
"""

import io
import json
import sys
import time

from azure.core.credentials import AccessToken
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.mgmt.redhatopenshift import AzureRedHatOpenShiftClient
from azure.mgmt.redhatopenshift import __version__ as package


class Somebody:
    """A credential: the API under test takes every caller."""

    def get_token(self, *scopes, **kwargs):
        return AccessToken("a-token-of-nobody", int(time.time()) + 3600)


def client(told, subscription, version):
    # Before 2.0 one package speaks several versions.
    speaks = {"api_version": version} if package < "2" else {}
    return AzureRedHatOpenShiftClient(
        Somebody(),
        subscription,
        base_url=told["url"],
        credential_scopes=[told["url"] + "/.default"],
        connection_verify=told["ca"],
        polling_interval=1,
        **speaks,
    )


def state(cluster):
    shown = cluster.as_dict()
    return shown.get("provisioning_state") or shown.get("properties", {}).get("provisioningState") \
        or shown.get("properties", {}).get("provisioning_state")


def body(value):
    return io.BytesIO(json.dumps(value).encode())


def places(cluster_id):
    parts = cluster_id.split("/")
    return parts[2], parts[4], parts[8]


def reads(told, version):
    """Whatever does not change anything."""
    subscription, group, name = places(told["id"])
    seen = {}
    with client(told, subscription, version) as api:
        operations = [operation.name for operation in api.operations.list()]
        assert "Microsoft.RedHatOpenShift/openShiftClusters/write" in operations, operations
        if version >= "2022-09-04":
            offered = [each.as_dict() for each in api.open_shift_versions.list(told["location"])]
            assert offered, "no version is offered"
            seen["versions"] = len(offered)
        if version >= "2024-08-12":
            sets = [each.as_dict() for each in api.platform_workload_identity_role_sets.list(told["location"])]
            assert sets, "no role sets"
            one = api.platform_workload_identity_role_set.get(told["location"], "4.17")
            assert one.as_dict(), one
            assert api.open_shift_versions.get(told["location"], told["made"]).as_dict()
        here = [cluster.name for cluster in api.open_shift_clusters.list()]
        grouped = [cluster.name for cluster in api.open_shift_clusters.list_by_resource_group(group)]
        assert name in here and name in grouped, (here, grouped)
        cluster = api.open_shift_clusters.get(group, name)
        assert cluster.name == name and cluster.id.lower() == told["id"].lower(), cluster
        text = json.dumps(cluster.as_dict())
        assert "clientSecret\": \"" not in text, text
        credentials = api.open_shift_clusters.list_credentials(group, name)
        assert credentials.kubeadmin_username == "kubeadmin" and credentials.kubeadmin_password, "no password"
        if version >= "2021-09-01":
            config = api.open_shift_clusters.list_admin_credentials(group, name)
            assert config.kubeconfig, "no kubeconfig"
        else:
            seen["no_admin_credentials"] = not hasattr(api.open_shift_clusters, "list_admin_credentials")
    with client(told, told["other"], version) as api:
        # More than a page; no cluster twice.
        ids = [cluster.id.lower() for cluster in api.open_shift_clusters.list()]
        assert len(ids) == len(set(ids)), "a cluster is listed twice"
        seen["listed"] = sorted(ids)
    return seen


def refused(told, version):
    """Errors come as the client's own exceptions, with our codes."""
    subscription, group, name = places(told["id"])
    with client(told, subscription, version) as api:
        try:
            api.open_shift_clusters.get(group, "nobody")
            raise AssertionError("a cluster that is not there was found")
        except ResourceNotFoundError as error:
            assert error.error.code == "ResourceNotFound", error
        try:
            api.open_shift_clusters.begin_create_or_update(group, "wrong", body({"location": "moon"}))
            raise AssertionError("a wrong body was taken")
        except HttpResponseError as error:
            assert error.status_code == 400 and error.error.code, error


def create(told, version):
    subscription, group, name = places(told["id"])
    with client(told, subscription, version) as api:
        poller = api.open_shift_clusters.begin_create_or_update(group, name, body(told["body"]))
        assert poller.status() in ("Creating", "InProgress", "Succeeded"), poller.status()
        made = poller.result()
        assert poller.done() and poller.status() == "Succeeded", poller.status()
        assert state(made) == "Succeeded", made.as_dict()


def update(told, version):
    subscription, group, name = places(told["id"])
    with client(told, subscription, version) as api:
        tags = {"by": version}
        poller = api.open_shift_clusters.begin_update(group, name, body({"tags": tags}))
        changed = poller.result()
        assert poller.status() == "Succeeded" and changed.tags == tags, changed.as_dict()
        again = api.open_shift_clusters.get(group, name)
        assert again.tags == tags and state(again) == "Succeeded", again.as_dict()


def delete(told, version):
    subscription, group, name = places(told["id"])
    with client(told, subscription, version) as api:
        poller = api.open_shift_clusters.begin_delete(group, name)
        poller.result()
        assert poller.done() and poller.status() == "Succeeded", poller.status()
        try:
            api.open_shift_clusters.get(group, name)
            raise AssertionError("it is still there")
        except ResourceNotFoundError:
            pass
        # Once more: nothing is there, and that is fine.
        api.open_shift_clusters.begin_delete(group, name).result()


STEPS = {"create": create, "reads": reads, "refused": refused, "update": update, "delete": delete}


def main():
    told = json.loads(sys.argv[1])
    seen = {"package": package, "versions": {}}
    for version in told["versions"]:
        for step in told["steps"]:
            found = STEPS[step](told, version)
            if found is not None:
                seen["versions"][version] = found
            print(f"{version} {step}", file=sys.stderr, flush=True)
    print(json.dumps(seen))


main()
