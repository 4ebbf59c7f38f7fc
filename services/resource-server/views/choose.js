// The page works without this script: it only counts, and ticks the files of the page, without a request.
const count = document.querySelector('#count')
const boxes = [...document.querySelectorAll('input[name="file"]')]

if (count !== null) {
  const ticked = () => boxes.filter((box) => box.checked).length
  const elsewhere = Number(count.dataset.count) - boxes.filter((box) => box.defaultChecked).length
  const digits = new Intl.NumberFormat(document.documentElement.lang)
  const update = () => {
    count.querySelector('strong').textContent = digits.format(elsewhere + ticked())
  }
  document.addEventListener('change', update)
  // Browsers keep the ticks of a page that they show again.
  window.addEventListener('pageshow', update)
  for (const button of document.querySelectorAll('[data-tick]')) {
    button.addEventListener('click', (event) => {
      event.preventDefault()
      for (const box of boxes) box.checked = button.dataset.tick === 'all'
      update()
    })
  }
}
