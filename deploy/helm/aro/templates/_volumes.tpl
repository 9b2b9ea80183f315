{{- /* Secrets as YAML: {secrets: [{key, dir, name, from, remote, roles, base64}]}. The one table of mounted secrets. */}}
{{- define "aro.secrets" -}}
{{- $all := list "portal" "proxy" "rp" "monitor" "maintenance" }}
{{- $web := list "portal" "proxy" }}
{{- if and (not .Values.secrets.rpTls.name) .Values.secrets.tls.name }}{{ $web = append $web "rp" }}{{ end }}
secrets:
{{- range $key, $roles := dict "keyring" $all "checkpoint" $all "tls" $web "oidc" (list "portal") "database" $all "rpTls" (list "rp") }}
{{- $secret := index $.Values.secrets $key }}
{{- if and $secret.name (not (and (eq $key "database") $.Values.database.cnpg.enabled)) }}
  - {key: {{ $key }}, dir: {{ kebabcase $key }}, roles: {{ toJson $roles }}, value: {{ toJson $secret }}}
{{- end }}
{{- end }}
{{- range .Values.secrets.extra }}
  - {key: {{ printf "extra-%s" .name }}, dir: {{ printf "extra/%s" .name }}, roles: {{ toJson (default $all .roles) }}, value: {{ toJson . }}}
{{- end }}
{{- end }}

{{- define "aro.volumes" -}}
- name: config
  configMap: {name: {{ include "aro.fullname" .top }}, defaultMode: 0444}
- name: state
  emptyDir: {sizeLimit: 1Gi}
- name: run
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
- name: tmp
  emptyDir: {sizeLimit: 256Mi}
{{- range (include "aro.secrets" .top | fromYaml).secrets }}
{{- if has $.role .roles }}
- name: {{ .key | kebabcase }}
  {{- if eq .value.from "csi" }}
  csi:
    driver: secrets-store.csi.k8s.io
    readOnly: true
    volumeAttributes: {secretProviderClass: {{ .value.name }}}
  {{- else }}
  secret: {secretName: {{ .value.name }}, defaultMode: 0440}
  {{- end }}
{{- end }}
{{- end }}
{{- if .top.Values.database.cnpg.enabled }}
{{- $db := printf "%s-db" (include "aro.fullname" .top) }}
- name: database
  projected:
    defaultMode: 0440
    sources:
      - secret: {name: {{ $db }}-app, items: [{key: password, path: password}]}
      - secret: {name: {{ $db }}-ca, items: [{key: ca.crt, path: ca.crt}]}
{{- end }}
{{- if .top.Values.workloadIdentity.enabled }}
- name: azure-identity
  projected:
    defaultMode: 0440
    sources:
      - serviceAccountToken: {audience: {{ .top.Values.workloadIdentity.audience | quote }}, expirationSeconds: 3600, path: azure-identity-token}
{{- end }}
{{- end }}

{{- define "aro.mounts" -}}
- {name: config, mountPath: /etc/aro/config, readOnly: true}
- {name: state, mountPath: /var/lib/aro}
- {name: run, mountPath: /run/aro}
- {name: tmp, mountPath: /tmp}
{{- range (include "aro.secrets" .top | fromYaml).secrets }}
{{- if has $.role .roles }}
- {name: {{ .key | kebabcase }}, mountPath: /etc/aro/{{ .dir }}, readOnly: true}
{{- end }}
{{- end }}
{{- if .top.Values.database.cnpg.enabled }}
- {name: database, mountPath: /etc/aro/database, readOnly: true}
{{- end }}
{{- if .top.Values.workloadIdentity.enabled }}
- {name: azure-identity, mountPath: /var/run/secrets/azure/tokens, readOnly: true}
{{- end }}
{{- end }}
