// Marks the button that sends a form until the next page appears, because a slow server would look like a button that failed.
const unmark = () => {
  for (const button of document.querySelectorAll('[aria-busy]')) button.removeAttribute('aria-busy')
}
addEventListener('submit', ({ submitter }) => {
  submitter?.setAttribute('aria-busy', 'true')
  // This page stays if the response opens an app of the device.
  setTimeout(unmark, 10_000)
})
// The page may return from the browser's back/forward cache.
addEventListener('pageshow', unmark)
