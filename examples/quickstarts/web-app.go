package main // A web app: signs in with Valetkey and lists the user's files. Needs golang.org/x/oauth2.

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"golang.org/x/oauth2"
	"net/http"
	"os"
)

var issuer, address, encode = os.Getenv("ISSUER"), "127.0.0.1:" + os.Getenv("PORT"), base64.RawURLEncoding.EncodeToString
var config = oauth2.Config{ClientID: os.Getenv("CLIENT_ID"), ClientSecret: os.Getenv("CLIENT_SECRET"), Scopes: []string{"files.read"},
	RedirectURL: "http://" + address + "/callback", Endpoint: oauth2.Endpoint{AuthURL: issuer + "/oauth/authorize",
		TokenURL: issuer + "/token", AuthStyle: oauth2.AuthStyleInHeader}}

func startSignIn(w http.ResponseWriter, r *http.Request) {
	random := make([]byte, 64)
	if _, err := rand.Read(random); err != nil {
		panic(err)
	}
	state, verifier := encode(random[:32]), encode(random[32:])
	hash := sha256.Sum256([]byte(verifier))
	http.SetCookie(w, &http.Cookie{Name: "sign_in_" + state, Value: verifier, Path: "/callback", MaxAge: 600, HttpOnly: true, SameSite: http.SameSiteLaxMode})
	http.Redirect(w, r, config.AuthCodeURL(state, oauth2.SetAuthURLParam("code_challenge", encode(hash[:])),
		oauth2.SetAuthURLParam("code_challenge_method", "S256")), http.StatusSeeOther)
}

func finishSignIn(w http.ResponseWriter, r *http.Request) {
	// The cookie shows that this browser started the sign-in; iss, that the response is from Valetkey (RFC 9207).
	cookie, err := r.Cookie("sign_in_" + r.FormValue("state"))
	if err != nil || r.FormValue("iss") != issuer || r.FormValue("code") == "" {
		http.Error(w, "Start again at /sign-in "+r.FormValue("error"), http.StatusBadRequest)
		return
	}
	token, err := config.Exchange(r.Context(), r.FormValue("code"), oauth2.SetAuthURLParam("code_verifier", cookie.Value))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	response, err := config.Client(r.Context(), token).Get(os.Getenv("RESOURCE_URL") + "/v1/files")
	var list struct{ Files []struct{ Name string } }
	if err != nil || response.StatusCode != http.StatusOK || json.NewDecoder(response.Body).Decode(&list) != nil {
		http.Error(w, "The files cannot be listed", http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	for _, file := range list.Files {
		fmt.Fprintln(w, file.Name)
	}
}

func main() {
	http.HandleFunc("/sign-in", startSignIn)
	http.HandleFunc("/callback", finishSignIn)
	fmt.Printf("Open http://%s/sign-in\n", address)
	panic(http.ListenAndServe(address, nil))
}
