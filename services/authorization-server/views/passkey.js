// Sign-in with a passkey, and the form that adds one. Without this script the pages work with a password.
;(() => {
  const library = window.SimpleWebAuthnBrowser
  const form = document.querySelector('form[data-passkey]')
  if (!form || !library?.browserSupportsWebAuthn()) return
  const optionsJSON = JSON.parse(form.dataset.options)
  const isSignIn = form.dataset.passkey === 'sign-in'

  const send = (response) => {
    form.elements.response.value = JSON.stringify(response)
    form.submit()
  }

  const showProblem = (shown) => {
    for (const text of form.querySelectorAll('[data-problem]')) text.hidden = text.dataset.problem !== shown
  }

  // The browser offers passkeys in the field of the user name.
  const offer = async () => {
    if (!isSignIn || !(await library.browserSupportsWebAuthnAutofill())) return
    const offered = library.startAuthentication({ optionsJSON, useBrowserAutofill: true })
    // It ends without a response when the button starts another one.
    offered.then(send, () => {})
  }

  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    showProblem()
    try {
      send(await (isSignIn ? library.startAuthentication({ optionsJSON }) : library.startRegistration({ optionsJSON })))
    } catch (error) {
      showProblem(error.name === 'InvalidStateError' ? 'exists' : 'failed')
      offer()
    }
  })

  form.hidden = false
  for (const text of document.querySelectorAll('[data-without-passkeys]')) text.hidden = true
  offer()
})()
