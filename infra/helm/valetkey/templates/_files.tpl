{{- /* A secret setting is a file, named like its variable: DATABASE_URL is /run/valetkey/database-url. */ -}}
{{- define "valetkey.secretFile" -}}
{{ . | lower | replace "_" "-" }}
{{- end -}}

{{- /* The lines of a ConfigMap that say where those files lie. */ -}}
{{- define "valetkey.secretSettings" -}}
{{- range $name, $_ := .secretKeys -}}
{{ $name }}_FILE: /run/valetkey/{{ include "valetkey.secretFile" $name }}
{{ end }}
{{- end -}}

{{- /* The service knows by its ending what it is. */ -}}
{{- define "valetkey.logoFile" -}}
logo{{ ext .key }}
{{- end -}}

{{- /* The URL of a server's database for a job, as `secretKeys`: without the pooler, if it has one. */ -}}
{{- define "valetkey.jobDatabase" -}}
{{- $direct := replace "DATABASE_URL" "DATABASE_DIRECT_URL" .setting -}}
{{ dict .setting (get .server.secretKeys $direct | default (get .server.secretKeys .setting)) | toYaml }}
{{- end -}}

{{- /* A volume with the files of some settings of a service, and `files` by their names, and nothing else of its Secrets. */ -}}
{{- define "valetkey.filesVolume" -}}
{{- $files := default dict .files -}}
{{- range $setting, $reference := .secretKeys -}}
{{- $_ := set $files (include "valetkey.secretFile" $setting) $reference -}}
{{- /* Where the URL of a database goes, there goes the authority that it may name. */ -}}
{{- if regexMatch "DATABASE(_DIRECT)?_URL$" $setting }}{{ $_ := set $files "postgres-ca.pem" $.server.postgresCa }}{{ end -}}
{{- end -}}
- name: {{ .name }}
  projected:
    defaultMode: 0440
    sources:
      {{- range $path, $reference := $files }}
      {{- with $reference }}
      {{- $kind := ternary "configMap" "secret" (hasKey . "configMap") }}
      - {{ $kind }}:
          name: {{ get . $kind | default $.server.existingSecret }}
          items: [{ key: {{ .key | quote }}, path: {{ $path }} }]
      {{- end }}
      {{- end }}
{{- end -}}

{{- /*
The versions of the Secrets and ConfigMaps that files and variables of a pod come from, as far as the cluster is there to be
asked; never their content.
*/ -}}
{{- define "valetkey.fileVersions" -}}
{{- $sources := list -}}
{{- range .files -}}
{{- range (include "valetkey.filesVolume" . | fromYamlArray) }}{{ $sources = concat $sources .projected.sources }}{{ end -}}
{{- end -}}
{{- range .values.extraVolumes -}}
{{- with .secret }}{{ $sources = append $sources (dict "secret" (dict "name" .secretName)) }}{{ end -}}
{{- with .configMap }}{{ $sources = append $sources (dict "configMap" .) }}{{ end -}}
{{- with .projected }}{{ $sources = concat $sources .sources }}{{ end -}}
{{- end -}}
{{- range .values.extraEnv -}}
{{- with dig "valueFrom" "secretKeyRef" "" . }}{{ $sources = append $sources (dict "secret" .) }}{{ end -}}
{{- with dig "valueFrom" "configMapKeyRef" "" . }}{{ $sources = append $sources (dict "configMap" .) }}{{ end -}}
{{- end -}}
{{- range $sources }}
{{- range $kind, $source := pick . "secret" "configMap" }}
{{- with lookup "v1" (title $kind) $.root.Release.Namespace $source.name }}
{{ $kind }} {{ $source.name }} {{ .metadata.uid }} {{ .metadata.resourceVersion }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}
