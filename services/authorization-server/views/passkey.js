// Sign-in with a passkey, and the form that adds one. Without this script the pages work with a password.
;(() => {
  const library = window.SimpleWebAuthnBrowser
  const form = document.querySelector('form[data-passkey]')
  if (!form || !library?.browserSupportsWebAuthn()) return
  const isSignIn = form.dataset.passkey === 'sign-in'
  const CHECK_MS = 15_000
  const challenge = newChallenge(form.dataset)
  let asksUser = false

  const send = (response) => {
    form.elements.response.value = JSON.stringify(response)
    form.submit()
  }

  const showProblem = (shown) => {
    for (const text of form.querySelectorAll('[data-problem]')) text.hidden = text.dataset.problem !== shown
  }

  const askUser = async () => {
    asksUser = true
    showProblem()
    try {
      // The user must sign in again first. The form leads there.
      if ((await challenge.renew()) === 'refused') return form.submit()
      const optionsJSON = challenge.options()
      send(await (isSignIn ? library.startAuthentication({ optionsJSON }) : library.startRegistration({ optionsJSON })))
    } catch (error) {
      showProblem(error.name === 'InvalidStateError' ? 'exists' : 'failed')
      offer()
    } finally {
      asksUser = false
    }
  }

  // The browser offers passkeys in the field of the user name.
  const offer = async () => {
    if (!isSignIn || !(await library.browserSupportsWebAuthnAutofill())) return
    const isOver = challenge.watch()
    const offered = library.startAuthentication({ optionsJSON: challenge.options(), useBrowserAutofill: true })
    // It ends without a response when the button or a later offer starts another one.
    offered.then(
      (response) => (isOver() ? askUser() : send(response)),
      () => {}
    )
  }

  // An offer ends with its challenge, so a page that stays open makes another one.
  const renewOffer = async () => {
    if (asksUser || document.hidden || !challenge.endsSoon()) return
    await challenge.renew()
    if (!asksUser) offer()
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault()
    askUser()
  })

  form.hidden = false
  for (const text of document.querySelectorAll('[data-without-passkeys]')) text.hidden = true
  if (!isSignIn) return
  offer()
  setInterval(renewOffer, CHECK_MS)
  document.addEventListener('visibilitychange', renewOffer)
})()

// The options with a challenge. It is valid for five minutes, and a page may be open for longer.
function newChallenge({ options: json, optionsUrl }) {
  const VALID_MS = 5 * 60_000
  const RENEW_MS = 4 * 60_000
  const ANSWER_MS = 3_000
  let options = JSON.parse(json)
  let since = Date.now()

  return {
    options: () => options,
    endsSoon: () => Date.now() - since >= RENEW_MS,

    // Whether the present challenge is over, at a later time.
    watch() {
      const begin = since
      return () => Date.now() - begin >= VALID_MS
    },

    async renew() {
      try {
        const response = await fetch(optionsUrl, { signal: AbortSignal.timeout(ANSWER_MS) })
        if (response.status === 403) return 'refused'
        if (!response.ok) return 'kept'
        options = await response.json()
        since = Date.now()
        return 'renewed'
      } catch {
        // The present challenge may still be valid.
        return 'kept'
      }
    }
  }
}
