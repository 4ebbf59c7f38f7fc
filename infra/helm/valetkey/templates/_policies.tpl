{{- /* Ports and peers of one rule; without peers it means any address. */ -}}
{{- define "valetkey.egressRule" -}}
- ports:
    {{- range .ports }}
    - { protocol: TCP, port: {{ int . }} }
    {{- end }}
  {{- with .to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- /* Public addresses only, at these ports. The service checks more ranges. */ -}}
{{- define "valetkey.egressToPublic" -}}
- ports:
    {{- range .ports }}
    - { protocol: TCP, port: {{ int . }} }
    {{- end }}
  to:
    - ipBlock:
        cidr: 0.0.0.0/0
        except: [10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, 192.168.0.0/16]
    - ipBlock:
        cidr: 2000::/3
{{- end -}}

{{- /* CLIENT_ID_METADATA of the authorization server; "unknown" if it is in a Secret, ConfigMap or file. */ -}}
{{- define "valetkey.clientIdMetadata" -}}
{{- $value := get .config "CLIENT_ID_METADATA" -}}
{{- $isFile := or (hasKey .secretKeys "CLIENT_ID_METADATA") (hasKey .config "CLIENT_ID_METADATA_FILE") -}}
{{- range .extraEnv -}}
{{- /* In the container, too, env has priority over the settings. */ -}}
{{- if eq .name "CLIENT_ID_METADATA" }}{{ $value = hasKey . "valueFrom" | ternary "unknown" (get . "value") }}{{ end -}}
{{- if eq .name "CLIENT_ID_METADATA_FILE" }}{{ $isFile = true }}{{ end -}}
{{- end -}}
{{- $isFile | ternary "unknown" $value -}}
{{- end -}}

{{- define "valetkey.egressToDns" -}}
- ports:
    {{- range .dns.ports }}
    - { protocol: UDP, port: {{ int . }} }
    - { protocol: TCP, port: {{ int . }} }
    {{- end }}
  {{- with .dns.to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- /* A listener for all sources, or for the given peers and `helm test`. */ -}}
{{- define "valetkey.publicIngress" -}}
- ports: [{ port: public }]
  {{- with .Values.networkPolicy.publicFrom }}
  from:
    {{- toYaml . | nindent 4 }}
    - podSelector:
        matchLabels:
          {{- include "valetkey.selector" (dict "root" $ "component" "test") | nindent 10 }}
  {{- end }}
{{- end -}}

{{- /* A rule without peers would admit all sources, so without peers there is no rule. */ -}}
{{- define "valetkey.operatorIngress" -}}
{{- with .operatorFrom -}}
- ports: [{ port: operator }]
  from:
    {{- toYaml . | nindent 4 }}
{{- end }}
{{- end -}}

{{- /* The ports of the authorization server elsewhere that a resource server asks. */ -}}
{{- define "valetkey.portsElsewhere" -}}
{{- $ports := list -}}
{{- range compact (list .introspectionUrl .revocationsUrl) -}}
{{- $url := urlParse . -}}
{{- $named := regexFind ":[0-9]+$" $url.host | trimPrefix ":" -}}
{{- $ports = append $ports ($named | default (ternary "443" "80" (eq $url.scheme "https"))) -}}
{{- end -}}
{{- uniq $ports | toJson -}}
{{- end -}}
