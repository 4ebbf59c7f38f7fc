// Runs in the page. Returns one line for each text that cannot be read completely: it extends beyond the window or its box, is
// cut off by it, or overlaps another text; and a line if the page can be scrolled sideways.
;(() => {
  const boxes = 'button, .button, input, code, dd, dt, .app, .card, .empty, .notice, .scope, .facts'
  const problems = []
  const texts = []
  const { clientWidth, scrollWidth, scrollHeight } = document.documentElement
  // There, buttons that stay at the end of the window have their own place, and must not lie over anything.
  scrollTo(0, scrollHeight)
  if (scrollWidth > clientWidth) problems.push(`the page is ${scrollWidth} wide in a window of ${clientWidth}`)

  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) {
    const node = walker.currentNode
    // The content of a closed <details> has a place, but is not shown.
    if (node.data.trim() === '' || !node.parentElement.checkVisibility()) continue
    const range = document.createRange()
    range.selectNodeContents(node)
    for (const rect of range.getClientRects()) if (rect.width > 1) texts.push({ node, rect })
  }

  for (const { node, rect } of texts) {
    const words = JSON.stringify(node.data.trim().slice(0, 40))
    if (rect.left < -1 || rect.right > clientWidth + 1) problems.push(`${words} sticks out of the window`)
    const box = node.parentElement.closest(boxes)
    const edge = box?.getBoundingClientRect()
    if (edge && (rect.left < edge.left - 1 || rect.right > edge.right + 1 || rect.bottom > edge.bottom + 4)) {
      problems.push(`${words} sticks out of its ${box.localName}`)
    }
  }

  for (const element of document.body.querySelectorAll('*')) {
    const hides = getComputedStyle(element).overflow !== 'visible' && element.localName !== 'svg'
    const isCut = element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 1
    if (hides && isCut)
      problems.push(`${element.localName} cuts off ${JSON.stringify(element.textContent.slice(0, 40))}`)
  }

  // Lines may touch, because a font is higher than its letters; an overlap of half a line hides it.
  const lieOver = (one, other) =>
    Math.min(one.right, other.right) - Math.max(one.left, other.left) > 2 &&
    Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > Math.min(one.height, other.height) / 2
  texts.forEach((one, index) => {
    for (const other of texts.slice(0, index)) {
      if (one.node === other.node || !lieOver(one.rect, other.rect)) continue
      problems.push(
        `${JSON.stringify(one.node.data.slice(0, 40))} lies over ${JSON.stringify(other.node.data.slice(0, 40))}`
      )
    }
  })
  return problems
})()
