// Guards GET /reports with OAuth 2.0 access tokens, by introspection (RFC 7662). See docs/guarding.md. Needs gson.
import static java.nio.charset.StandardCharsets.UTF_8;
import com.google.gson.*;
import com.sun.net.httpserver.*;
import java.net.*;
import java.net.http.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.regex.Pattern;
class Guard {
    static final String ISSUER = System.getenv("ISSUER"), RESOURCE = System.getenv("RESOURCE"), SCOPE = "reports.read";
    static final String ID = System.getenv("INTROSPECTION_CLIENT_ID"), SECRET = System.getenv("INTROSPECTION_CLIENT_SECRET");
    static final String BASIC = "Basic " + Base64.getEncoder().encodeToString((ID + ":" + SECRET).getBytes(UTF_8));
    static final HttpClient CLIENT = HttpClient.newHttpClient(); // Follows no redirect.
    static final Pattern BEARER = Pattern.compile("(?i)bearer(?: +([a-z0-9._~+/-]+=*)|[ \t=].*|)"); // Group 1: the token
    static final URI API = URI.create(RESOURCE);
    static final String PATH = "/.well-known/oauth-protected-resource" + (API.getPath().equals("/") ? "" : API.getPath());
    static final String CHALLENGE = "Bearer realm=\"%s\", scope=\"%s\", resource_metadata=\"%s\"".formatted(API.getAuthority(), SCOPE, API.resolve(PATH));
    record Reply(int status, String header, String value, Object body) {}
    static class Token { JsonPrimitive active; JsonElement aud, cnf, authorization_details; String iss = ISSUER, token_type = "Bearer", scope = "", sub; double exp = 1e10; }
    static Reply refuse(int status, String problem) { return new Reply(status, "WWW-Authenticate", CHALLENGE + problem, Map.of()); }
    static Reply check(List<String> authorization, String query) {
        var parameters = Arrays.stream(query == null ? new String[0] : query.split("&")).map(each -> URLDecoder.decode(each, UTF_8));
        if (authorization.size() > 1 || parameters.anyMatch(each -> each.matches("(?s)access_token=.+"))) return refuse(400, ", error=\"invalid_request\"");
        var credentials = BEARER.matcher(authorization.isEmpty() ? "" : authorization.get(0).strip());
        if (!credentials.matches()) return refuse(401, "");
        if (credentials.group(1) == null) return refuse(401, ", error=\"invalid_token\"");
        try {
            var form = HttpRequest.BodyPublishers.ofString("token=" + URLEncoder.encode(credentials.group(1), UTF_8));
            var request = HttpRequest.newBuilder(URI.create(System.getenv("INTROSPECTION_URL"))).POST(form)
                .headers("Authorization", BASIC, "Content-Type", "application/x-www-form-urlencoded").build();
            var response = CLIENT.sendAsync(request, HttpResponse.BodyHandlers.ofString()).get(2, TimeUnit.SECONDS); // With body.
            var token = new Gson().fromJson(response.body(), Token.class);
            if (response.statusCode() != 200 || !token.active.isBoolean()) throw new IllegalStateException();
            var resource = new JsonPrimitive(RESOURCE);
            var isHere = resource.equals(token.aud) || token.aud instanceof JsonArray list && list.contains(resource);
            var isBearer = "Bearer".equalsIgnoreCase(token.token_type) && token.cnf == null && token.authorization_details == null;
            var isLive = token.active.getAsBoolean() && token.exp > System.currentTimeMillis() / 1000;
            if (!isHere || !isBearer || !isLive || !ISSUER.equals(token.iss)) return refuse(401, ", error=\"invalid_token\"");
            if (!List.of(token.scope.split(" ")).contains(SCOPE)) return refuse(403, ", error=\"insufficient_scope\"");
            var body = Map.of("owner", Objects.toString(token.sub, ""), "reports", List.of("October", "November"));
            return new Reply(200, "Content-Type", "application/json", body);
        } catch (Exception problem) { return new Reply(503, "Retry-After", "2", Map.of()); }
    }
    static void send(HttpExchange exchange, Reply reply) throws java.io.IOException {
        var body = exchange.getRequestMethod().equals("HEAD") ? new byte[0] : new Gson().toJson(reply.body()).getBytes(UTF_8);
        exchange.getResponseHeaders().set(reply.header(), reply.value());
        exchange.sendResponseHeaders(reply.status(), body.length == 0 ? -1 : body.length);
        try (var out = exchange.getResponseBody()) { out.write(body); }
    }
    public static void main(String[] arguments) throws Exception {
        var metadata = Map.of("resource", RESOURCE, "authorization_servers", List.of(ISSUER), "scopes_supported", List.of(SCOPE));
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(System.getenv("PORT"))), 0);
        server.setExecutor(Executors.newCachedThreadPool());
        server.createContext(PATH, exchange -> send(exchange, new Reply(200, "Content-Type", "application/json", metadata)));
        server.createContext("/reports", exchange -> send(exchange,
            check(exchange.getRequestHeaders().getOrDefault("Authorization", List.of()), exchange.getRequestURI().getRawQuery())));
        server.start();
    }
}
