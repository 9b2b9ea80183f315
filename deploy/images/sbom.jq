# From the output of `cargo metadata` to CycloneDX 1.6. $program is that of the root; $checksums and $libraries are given by the script.

# What is linked: dependencies of the normal kind, not those of tests and build scripts.
def linked: [.deps[] | select(any(.dep_kinds[]; .kind == null)) | .pkg];
def reached($nodes; $seen; $next):
  if ($next | length) == 0 then $seen
  else ($next | map({key: ., value: true}) | from_entries) as $new
    | reached($nodes; $seen + $new; [$next[] | $nodes[.] | .[] | select(($seen + $new)[.] | not)] | unique)
  end;
def purl: "pkg:cargo/\(.name)@\(.version)";

(.resolve.nodes | map({key: .id, value: linked}) | from_entries) as $nodes
| (.packages | map({key: .id, value: .}) | from_entries) as $packages
| [.packages[] | select(.source == null and any(.targets[]; .name == $program and (.kind | index("bin"))))][0].id as $root
| (reached($nodes; {}; [$root]) | keys | sort) as $ids
| {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      timestamp: $time,
      component: {type: "application", "bom-ref": ($packages[$root] | purl), name: $program, version: $version}
    },
    components: (
      [$ids[] | select(. != $root) | $packages[.] | {
        type: "library",
        "bom-ref": purl,
        name, version,
        purl: purl
      } + (if .license then {licenses: [{expression: (.license | gsub("/"; " OR "))}]} else {} end)
        + ($checksums[0]["\(.name) \(.version)"] as $sum | if $sum then {hashes: [{alg: "SHA-256", content: $sum}]} else {} end)]
      + [$libraries[0][] | {
        type: "file",
        "bom-ref": .file,
        name: .file,
        hashes: [{alg: "SHA-256", content: .digest}]
      } + (if .owner != "" then {version: .version, purl: "pkg:deb/debian/\(.owner)@\(.version | @uri)"} else {} end)]
    ),
    dependencies: [$ids[] | {ref: ($packages[.] | purl), dependsOn: ([$nodes[.][] | $packages[.] | purl] | unique)}]
  }
