{{- define "aro.fullname" -}}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else }}{{ $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}{{ end }}{{ end }}
{{- end }}

{{- /* Labels that select the pods of a release: they never change. */}}
{{- define "aro.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "aro.labels" -}}
{{ include "aro.selector" . }}
app.kubernetes.io/version: {{ default .Chart.AppVersion .Values.image.tag | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: aro
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "aro.image" -}}
{{- $tag := default .Chart.AppVersion .Values.image.tag -}}
{{ .Values.image.repository }}:{{ $tag }}{{ with .Values.image.digest }}@{{ . }}{{ end }}
{{- end }}

{{- /* The roles that are on, as YAML: {roles: [{name, args, ports, services}]}. The one table of roles. */}}
{{- define "aro.roles" -}}
roles:
{{- $ssh := .Values.ssh }}
{{- range $name, $args := dict "portal" (list "portal") "proxy" (list "proxy" "serve") "rp" (list "rp") "monitor" (list "monitor") "maintenance" (list "maintenance") }}
{{- $values := index $.Values.roles $name }}
{{- if $values.enabled }}
  - name: {{ $name }}
    args: {{ toJson $args }}
    {{- if has $name (list "portal" "proxy") }}
    port: {name: https, number: 8444, service: 443}
    {{- if $ssh.enabled }}
    ssh: {name: ssh, number: 2222, service: {{ $ssh.port | int }}}
    {{- end }}
    {{- else if eq $name "rp" }}
    port: {name: https, number: 8443, service: 443}
    {{- end }}
    {{- /* The unit of the role has the same sum: deploy/systemd. */}}
    {{- $stop := $.Values.shutdown }}
    grace: {{ if eq $name "monitor" }}{{ add $stop.monitorDrainSeconds 20 }}
      {{- else if eq $name "maintenance" }}{{ add $stop.maintenanceDrainSeconds 20 }}
      {{- else if eq $name "rp" }}{{ add $stop.leaveSeconds $stop.drainSeconds $stop.backendDrainSeconds 20 }}
      {{- else }}{{ add $stop.leaveSeconds $stop.drainSeconds 20 }}{{ end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "aro.host" -}}
{{- (urlParse .).hostname }}
{{- end }}
