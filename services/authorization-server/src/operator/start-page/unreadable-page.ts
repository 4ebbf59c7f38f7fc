import { type UnreadableBody, type UnreadableRequest, unreadableProblem } from '@valetkey/service-kit'
import { SECURITY_HEADERS } from '../../http/security-headers.js'

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>This request could not be read</title>
<h1>This request could not be read</h1>
<p>The address is damaged, or your browser sent more than this service accepts. Most often, many or large cookies are the
cause: browsers send the cookies of a host to all its ports. Delete the cookies of this host, or open the page by another
name of the host.</p>
</html>
`

/** Returns a page in English for the overview, which people open. Programs call all other addresses. */
export function unreadableOverview(request: UnreadableRequest): UnreadableBody {
  if (request.accept?.includes('text/html') !== true) return unreadableProblem(request)
  return { contentType: 'text/html; charset=utf-8', body: PAGE, headers: SECURITY_HEADERS }
}
