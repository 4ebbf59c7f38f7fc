// Adds a button to each password field that shows and hides what was typed. Without scripts there is no button.
for (const field of document.querySelectorAll('input[data-show-password]')) {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'show-password'
  button.setAttribute('aria-controls', field.id)

  const show = (isShown) => {
    field.type = isShown ? 'text' : 'password'
    button.textContent = isShown ? field.dataset.hidePassword : field.dataset.showPassword
  }
  show(false)
  button.addEventListener('click', () => show(field.type === 'password'))
  // Browsers remember the content of text fields; a password field is left to the password manager.
  field.form.addEventListener('submit', () => show(false))
  field.after(button)
}
