// A web app: signs in with Valetkey and lists the user's files. Needs gson.
import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.stream.Collectors.*;
import com.google.gson.*;
import com.sun.net.httpserver.*;
import java.net.*;
import java.net.http.*;
import java.util.*;
class WebApp {
    static final String ISSUER = System.getenv("ISSUER"), ID = System.getenv("CLIENT_ID"), PORT = System.getenv("PORT");
    static final String SECRET = System.getenv("CLIENT_SECRET"), REDIRECT_URI = "http://127.0.0.1:" + PORT + "/callback";
    static String form(Map<String, String> fields) {
        return fields.entrySet().stream().map(e -> e.getKey() + "=" + URLEncoder.encode(e.getValue(), UTF_8)).collect(joining("&"));
    }
    static Map<String, String> parse(String pairs, String separator) {
        return Arrays.stream(pairs.split(separator)).map(pair -> pair.split("=", 2)).collect(toMap(p -> p[0], p -> p[1], (a, b) -> b));
    }
    static JsonObject fetch(HttpRequest.Builder request) throws Exception {
        var response = HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.ofString());
        if (response.statusCode() != 200) throw new IllegalStateException(response.body());
        return JsonParser.parseString(response.body()).getAsJsonObject();
    }
    static String startSignIn(Headers headers) throws Exception {
        String state = UUID.randomUUID().toString(), verifier = UUID.randomUUID().toString() + UUID.randomUUID();
        var hash = java.security.MessageDigest.getInstance("SHA-256").digest(verifier.getBytes(UTF_8));
        headers.set("Set-Cookie", "sign_in_" + state + "=" + verifier + "; HttpOnly; SameSite=Lax; Path=/callback; Max-Age=600");
        headers.set("Location", ISSUER + "/oauth/authorize?" + form(Map.of("response_type", "code", "client_id", ID,
            "redirect_uri", REDIRECT_URI, "scope", "files.read", "state", state, "code_challenge_method", "S256",
            "code_challenge", Base64.getUrlEncoder().withoutPadding().encodeToString(hash))));
        return "";
    }
    static String finishSignIn(Map<String, String> query, Map<String, String> cookies) throws Exception {
        // The cookie shows that this browser started the sign-in; iss, that the response is from Valetkey (RFC 9207).
        var verifier = cookies.get("sign_in_" + query.get("state"));
        if (verifier == null || !ISSUER.equals(query.get("iss")) || !query.containsKey("code"))
            throw new IllegalStateException("Start again at /sign-in " + query.getOrDefault("error", ""));
        var body = form(Map.of("grant_type", "authorization_code", "code", query.get("code"), "redirect_uri", REDIRECT_URI,
            "code_verifier", verifier, "client_id", ID, "client_secret", SECRET));
        var tokens = fetch(HttpRequest.newBuilder(URI.create(ISSUER + "/token"))
            .header("Content-Type", "application/x-www-form-urlencoded").POST(HttpRequest.BodyPublishers.ofString(body)));
        var list = fetch(HttpRequest.newBuilder(URI.create(System.getenv("RESOURCE_URL") + "/v1/files"))
            .header("Authorization", "Bearer " + tokens.get("access_token").getAsString())).getAsJsonArray("files").asList();
        return list.stream().map(file -> file.getAsJsonObject().get("name").getAsString() + "\n").collect(joining());
    }
    public static void main(String[] arguments) throws Exception {
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(PORT)), 0);
        server.createContext("/sign-in", exchange -> reply(exchange, 303, () -> startSignIn(exchange.getResponseHeaders())));
        server.createContext("/callback", exchange -> reply(exchange, 200, () -> finishSignIn(parse(
            exchange.getRequestURI().getQuery(), "&"), parse(exchange.getRequestHeaders().getFirst("Cookie"), "; "))));
        server.start();
        System.out.println("Open http://127.0.0.1:" + PORT + "/sign-in");
    }
    static void reply(HttpExchange exchange, int status, java.util.concurrent.Callable<String> page) throws java.io.IOException {
        String text;
        try { text = page.call(); } catch (Exception error) { status = 502; text = String.valueOf(error.getMessage()); }
        exchange.getResponseHeaders().set("Content-Type", "text/plain; charset=utf-8");
        exchange.sendResponseHeaders(status, 0);
        try (var out = exchange.getResponseBody()) { out.write(text.getBytes(UTF_8)); }
    }
}
