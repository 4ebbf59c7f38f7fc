{{- /* A Service for one listener. Only the public one has a type and annotations of the operator. */ -}}
{{- define "valetkey.service" -}}
{{- $public := ternary .values.service dict (eq .listener "public") -}}
{{- $suffix := ternary .component (printf "%s-%s" .component .listener) (eq .listener "public") -}}
apiVersion: v1
kind: Service
{{ include "valetkey.metadata" (dict "root" .root "component" .component "suffix" $suffix "annotations" $public.annotations) }}
spec:
  type: {{ $public.type | default "ClusterIP" }}
  {{- with omit $public "type" "annotations" "nodePort" }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  selector:
    {{- include "valetkey.selector" . | nindent 4 }}
  ports:
    - name: {{ .listener }}
      port: {{ .port }}
      targetPort: {{ .listener }}
      {{- with $public.nodePort }}
      nodePort: {{ int . }}
      {{- end }}
{{- end -}}
