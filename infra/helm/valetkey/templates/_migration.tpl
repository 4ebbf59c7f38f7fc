{{- /* Brings a service's database to the form that the release needs, as the role that owns it, if that is another one. */ -}}
{{- define "valetkey.migrationJob" -}}
{{- $setting := .migrate.setting -}}
{{- $url := get (default dict .root.Values.migrations.secretKeys) $setting | default (get .server.secretKeys $setting) -}}
{{- $component := dict "root" .root "component" (printf "%s-migration" .component) -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ include "valetkey.name" .root }}-{{ $component.component }}
  labels:
    {{- include "valetkey.labels" $component | nindent 4 }}
  annotations:
    {{- include "valetkey.hook" (dict "weight" 0) | nindent 4 }}
spec:
  backoffLimit: 2
  activeDeadlineSeconds: {{ .root.Values.migrations.timeoutSeconds }}
  template:
    metadata:
      labels:
        {{- include "valetkey.labels" $component | nindent 8 }}
    spec:
      {{- include "valetkey.podConfinement" .root | nindent 6 }}
      {{- include "valetkey.placement" .server | nindent 6 }}
      restartPolicy: Never
      containers:
        - name: migrate
          {{- include "valetkey.image" (dict "root" .root "image" .server.image) | nindent 10 }}
          command: [{{ .migrate.program }}, migrate]
          env:
            - { name: {{ $setting }}_FILE, value: /run/valetkey/{{ include "valetkey.secretFile" $setting }} }
          {{- include "valetkey.containerConfinement" .root | nindent 10 }}
          resources:
            {{- toYaml .root.Values.migrations.resources | nindent 12 }}
          volumeMounts:
            {{- include "valetkey.filesMount" .root | nindent 12 }}
      volumes:
        {{- /* Not the whole Secret: a migration needs its database and nothing else. */}}
        {{- include "valetkey.filesVolume" (dict "name" "files" "server" .server "secretKeys" (dict $setting $url)) | nindent 8 }}
{{- end -}}
