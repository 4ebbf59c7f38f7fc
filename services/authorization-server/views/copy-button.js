// Adds a button to each value that can be copied. Without scripts, a click on the value selects it.
// Browsers have a clipboard only on https and on this device.
if (navigator.clipboard) {
  for (const value of document.querySelectorAll('[data-copy]')) {
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'link copy'
    button.textContent = value.dataset.copy
    // Says which value, because all buttons have the same text.
    const label = value.dataset.copyLabel
    button.setAttribute('aria-label', label)
    const said = document.createElement('span')
    said.className = 'copy'
    said.setAttribute('role', 'status')
    button.addEventListener('click', async () => {
      said.textContent = await navigator.clipboard.writeText(value.textContent).then(
        () => value.dataset.copied,
        () => {
          // The browser refuses the clipboard. The keys that copy work on the selection.
          getSelection().selectAllChildren(value)
          return value.dataset.copyRefused
        }
      )
    })
    value.after(button, said)
  }
}
