package main // Guards GET /reports with access tokens, by introspection (RFC 7662). See docs/guarding.md.

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"
)

var env, issuer, resource, scope = os.Getenv, os.Getenv("ISSUER"), os.Getenv("RESOURCE"), "reports.read"
var bearer = regexp.MustCompile(`(?i)^bearer(?: +([a-z0-9._~+/-]+=*)|[ \t=].*|)$`) // Group 1: the token, if well-formed.
var credential = url.UserPassword(env("INTROSPECTION_CLIENT_ID"), env("INTROSPECTION_CLIENT_SECRET")).String()
var noRedirects = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
var client = http.Client{Timeout: 2 * time.Second, CheckRedirect: noRedirects}

func check(r *http.Request, challenge string) (status int, header, value string, body []byte) {
	credentials := bearer.FindStringSubmatch(r.Header.Get("Authorization"))
	if len(r.Header["Authorization"]) > 1 || strings.Join(r.URL.Query()["access_token"], "") != "" {
		return 400, "WWW-Authenticate", challenge + `, error="invalid_request"`, nil
	} else if credentials == nil {
		return 401, "WWW-Authenticate", challenge, nil
	} else if credentials[1] == "" {
		return 401, "WWW-Authenticate", challenge + `, error="invalid_token"`, nil
	}
	token := map[string]any{"iss": issuer, "token_type": "Bearer", "exp": float64(1 << 50), "scope": ""} // If absent.
	response, err := client.PostForm(strings.Replace(env("INTROSPECTION_URL"), "//", "//"+credential+"@", 1), url.Values{"token": {credentials[1]}})
	if err == nil {
		defer response.Body.Close()
		err = json.NewDecoder(response.Body).Decode(&token)
	}
	isOurs := strings.EqualFold(fmt.Sprint(token["token_type"]), "Bearer") && token["cnf"] == nil && token["authorization_details"] == nil && token["iss"] == issuer
	isHere := strings.Contains(fmt.Sprintf("%q", token["aud"]), fmt.Sprintf("%q", resource)) // Alone or in a list.
	if err != nil || response.StatusCode != 200 || token["active"] != true && token["active"] != false {
		return 503, "Retry-After", "2", nil
	} else if expiresAt, _ := token["exp"].(float64); token["active"] == false || !isHere || !isOurs || expiresAt <= float64(time.Now().Unix()) {
		return 401, "WWW-Authenticate", challenge + `, error="invalid_token"`, nil
	} else if !strings.Contains(fmt.Sprintf(" %v ", token["scope"]), " "+scope+" ") {
		return 403, "WWW-Authenticate", challenge + `, error="insufficient_scope"`, nil
	}
	body, _ = json.Marshal(map[string]any{"owner": token["sub"], "reports": []string{"October", "November"}})
	return 200, "Content-Type", "application/json", body
}
func main() {
	api, _ := url.Parse(resource)
	api.Path = "/.well-known/oauth-protected-resource" + strings.TrimSuffix(api.Path, "/")
	challenge := fmt.Sprintf("Bearer realm=%q, scope=%q, resource_metadata=%q", api.Host, scope, api)
	metadata, _ := json.Marshal(map[string]any{"resource": resource, "authorization_servers": []string{issuer}, "scopes_supported": []string{scope}})
	http.HandleFunc(api.Path, func(w http.ResponseWriter, _ *http.Request) { w.Write(metadata) })
	http.HandleFunc("/reports", func(w http.ResponseWriter, r *http.Request) {
		status, header, value, body := check(r, challenge)
		w.Header().Set(header, value)
		w.WriteHeader(status)
		w.Write(body)
	})
	panic(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
