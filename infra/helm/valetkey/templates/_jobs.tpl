{{- /* A job before install and upgrade: deleted after success, kept after failure. */ -}}
{{- define "valetkey.hook" -}}
{{- $weight := dict "helm.sh/hook-weight" (toString .weight) -}}
{{- merge (dict) $weight .root.Values.jobs.annotations | toYaml -}}
{{- end -}}

{{- /* A job that runs the program of a service: dict of valetkey.podTemplate, and `weight` or whole `annotations`. */ -}}
{{- define "valetkey.job" -}}
{{- $jobs := .root.Values.jobs -}}
apiVersion: batch/v1
kind: Job
{{ include "valetkey.metadata" (dict "root" .root "component" .component "annotations" (.annotations | default (include "valetkey.hook" . | fromYaml))) }}
spec:
  backoffLimit: 2
  activeDeadlineSeconds: {{ $jobs.timeoutSeconds }}
  {{- $_ := set . "values" $jobs }}
  {{- $_ := set . "annotations" dict }}
  {{- /* Rules about other pods are for those of the service, and could keep a job waiting for ever. */}}
  {{- $_ := set . "affinity" (pick (default dict .server.affinity) "nodeAffinity") }}
  {{- $_ := set . "spec" "restartPolicy: Never" }}
  {{- $_ := set . "resources" $jobs.resources }}
  template:
    {{- include "valetkey.podTemplate" . | nindent 4 }}
{{- end -}}

{{- /* Brings a service's database to the form that the release needs, as the role that owns it, if that is another one. */ -}}
{{- define "valetkey.migrationJob" -}}
{{- $owners := pick (default dict .root.Values.migrations.secretKeys) .setting -}}
{{- $url := $owners | default (include "valetkey.jobDatabase" . | fromYaml) -}}
{{- $_ := set . "component" (printf "%s-migration" .component) -}}
{{- $_ := set . "weight" 0 -}}
{{- $_ := set . "name" "migrate" -}}
{{- $_ := set . "container" (printf "command: [%s, migrate]" .program) -}}
{{- $_ := set . "env" (list (dict "name" (print .setting "_FILE") "value" (print "/run/valetkey/" (include "valetkey.secretFile" .setting)))) -}}
{{- /* Not the whole Secret: a migration needs its database and nothing else. */ -}}
{{- $_ := set . "files" (list (dict "name" "files" "mountPath" "/run/valetkey" "server" .server "secretKeys" $url)) -}}
{{- include "valetkey.job" . }}
{{- end -}}
