{{- /* What the chart decides, by section. */}}
{{- define "aro.decided" -}}
{{- $values := .Values }}
listen:
  portal: {{ printf "%s:8444" $values.listenAddress | quote }}
  admin: {{ printf "%s:6060" $values.listenAddress | quote }}
  # The kubelet's probes and Prometheus come from outside of the pod; a NetworkPolicy says who else may.
  admin_allow_remote: true
  control: /run/aro/control.sock
store:
  kind: postgres
  url: {{ include "aro.database.url" . | quote }}
  password_file: /etc/aro/database/password
  {{- if or $values.database.cnpg.enabled $values.secrets.database.ca }}
  ca_file: /etc/aro/database/ca.crt
  {{- end }}
  connections: {{ $values.database.connections | int }}
keys:
  keyring_file: /etc/aro/keyring/keyring.json
audit:
  checkpoint_key_file: /etc/aro/checkpoint/audit-key.p8
  spool_file: /var/lib/aro/audit.spool
limits:
  leave: {{ printf "%ds" (int $values.shutdown.leaveSeconds) }}
  drain: {{ printf "%ds" (int $values.shutdown.drainSeconds) }}
backend:
  drain: {{ printf "%ds" (int $values.shutdown.backendDrainSeconds) }}
monitor:
  drain: {{ printf "%ds" (int $values.shutdown.monitorDrainSeconds) }}
maintenance:
  drain: {{ printf "%ds" (int $values.shutdown.maintenanceDrainSeconds) }}
  # Beside the workers of rp, unless it is a deployment of its own.
  enabled: {{ not $values.roles.maintenance.enabled }}
{{- if $values.secrets.tls.name }}
tls:
  cert_file: /etc/aro/tls/tls.crt
  key_file: /etc/aro/tls/tls.key
  {{- if $values.secrets.tls.ca }}
  ca_file: /etc/aro/tls/ca.crt
  {{- end }}
{{- end }}
{{- if $values.secrets.oidc.name }}
oidc:
  {{- if $values.secrets.oidc.certificate }}
  client_key_file: /etc/aro/oidc/client.key
  client_cert_file: /etc/aro/oidc/client.crt
  {{- else }}
  client_secret_file: /etc/aro/oidc/client-secret
  {{- end }}
{{- end }}
rp:
  listen: {{ printf "%s:8443" $values.listenAddress | quote }}
  {{- if $values.secrets.rpTls.name }}
  cert_file: /etc/aro/rp-tls/tls.crt
  key_file: /etc/aro/rp-tls/tls.key
  {{- end }}
{{- if $values.ssh.enabled }}
ssh:
  listen: {{ printf "%s:2222" $values.listenAddress | quote }}
  port: {{ $values.ssh.port | int }}
{{- end }}
{{- if $values.workloadIdentity.enabled }}
azure:
  credential: workload_identity
  federated_token_file: /var/run/secrets/azure/tokens/azure-identity-token
{{- end }}
{{- end }}

{{- define "aro.database.url" -}}
{{- if .Values.database.cnpg.enabled -}}
postgres://aro@{{ include "aro.fullname" . }}-db-rw:5432/aro
{{- else -}}
{{ required "database.url is needed, or database.cnpg.enabled" .Values.database.url }}
{{- end }}
{{- end }}

{{- /* aro.toml: the settings of the values with what the chart decides; a key of both is an error. */}}
{{- define "aro.toml" -}}
{{- $settings := deepCopy .Values.settings }}
{{- range $section, $keys := include "aro.decided" . | fromYaml }}
{{- $given := default dict (index $settings $section) }}
{{- range $key, $value := $keys }}
{{- if hasKey $given $key }}{{ fail (printf "settings.%s.%s is set by the chart: see values.yaml" $section $key) }}{{ end }}
{{- end }}
{{- $_ := set $settings $section (merge $given $keys) }}
{{- end }}
{{- if not (hasKey $settings "log") }}{{ $_ := set $settings "log" (dict "format" "json") }}{{ end }}
{{- range $section, $keys := $settings }}
{{- if $keys }}
[{{ $section }}]
{{- range $key, $value := $keys }}
{{ $key }} = {{ include "aro.toml.value" $value }}
{{- end }}
{{ end }}
{{- end }}
{{- end }}

{{- /* Numbers of values are floats: toToml would write 1000.0, and 2.68e+08. A JSON text is a TOML text. */}}
{{- define "aro.toml.value" -}}
{{- if kindIs "string" . }}{{ toJson . }}
{{- else if kindIs "bool" . }}{{ . }}
{{- else if kindIs "slice" . }}[{{ range $n, $item := . }}{{ if $n }}, {{ end }}{{ include "aro.toml.value" $item }}{{ end }}]
{{- else }}{{ int64 . }}{{ end }}
{{- end }}
