# A web app: signs in with Valetkey and lists the user's files. Needs the gems oauth2 and webrick.
require 'digest'
require 'oauth2'
require 'securerandom'
require 'webrick'

ISSUER, RESOURCE_URL, PORT = ENV.fetch('ISSUER'), ENV.fetch('RESOURCE_URL'), ENV.fetch('PORT')
REDIRECT_URI = "http://127.0.0.1:#{PORT}/callback"
CLIENT = OAuth2::Client.new(ENV.fetch('CLIENT_ID'), ENV.fetch('CLIENT_SECRET'), auth_scheme: :basic_auth,
                            site: ISSUER, authorize_url: "#{ISSUER}/oauth/authorize", token_url: "#{ISSUER}/token")

def start_sign_in(response)
  state = SecureRandom.urlsafe_base64(32)
  verifier = SecureRandom.urlsafe_base64(32)
  response['Set-Cookie'] = "sign_in_#{state}=#{verifier}; HttpOnly; SameSite=Lax; Path=/callback; Max-Age=600"
  response['Location'] = CLIENT.auth_code.authorize_url(
    redirect_uri: REDIRECT_URI, scope: 'files.read', state: state,
    code_challenge: Digest::SHA256.base64digest(verifier).tr('+/', '-_').delete('='), code_challenge_method: 'S256'
  )
  response.status = 303
end

def finish_sign_in(request, response)
  query = request.query
  # The cookie shows that this browser started the sign-in; iss, that the response is from Valetkey (RFC 9207).
  cookie = request.cookies.find { |one| one.name == "sign_in_#{query['state']}" }
  if cookie.nil? || query['iss'] != ISSUER || query['code'].nil?
    response.status = 400
    response.body = "Start again at /sign-in #{query['error']}"
    return
  end
  token = CLIENT.auth_code.get_token(query['code'], redirect_uri: REDIRECT_URI, code_verifier: cookie.value)
  files = token.get("#{RESOURCE_URL}/v1/files").parsed['files']
  response.body = files.map { |file| "#{file['name']}\n" }.join
rescue OAuth2::Error, Faraday::Error => e
  response.status = 502
  response.body = "Sign-in failed: #{e.message}"
end

# No access log, because the query has the code.
server = WEBrick::HTTPServer.new(BindAddress: '127.0.0.1', Port: PORT, AccessLog: [])
server.mount_proc '/' do |request, response|
  response['Content-Type'] = 'text/plain; charset=utf-8'
  response['Cache-Control'] = 'no-store'
  case request.path
  when '/sign-in' then start_sign_in(response)
  when '/callback' then finish_sign_in(request, response)
  else response.status = 404
  end
end
trap('INT') { server.shutdown }
$stdout.sync = true
puts "Open http://127.0.0.1:#{PORT}/sign-in"
server.start
