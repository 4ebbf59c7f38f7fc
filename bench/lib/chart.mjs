// Draws a chart of stacked bars as SVG, in colours that are readable on light and dark pages.

const WIDTH = 760
const LABELS = 190
const VALUES = 110
const ROW = 22
const BAR = 14
const TITLE = 30
const GAP = 16
const LEGEND = 26
/** Each colour has a contrast of at least 3 to the page (WCAG 2.2, 1.4.11), and the parts also differ in brightness. */
const COLOURS = { light: ['#1d4ed8', '#0f8f6f', '#b45309'], dark: ['#93b4ff', '#3ecfa5', '#f0a04b'] }

/**
 * @param panels each with a `title` and `bars`; a bar has a `name` and `parts`, name → value. Every panel has its own scale.
 * @returns the text of the SVG file
 */
export function costChart({ title, panels, unit }) {
  const parts = Object.keys(panels[0].bars[0].parts)
  let top = LEGEND
  const body = panels.map((panel) => {
    const drawn = drawPanel(panel, top, unit)
    top += TITLE + panel.bars.length * ROW + GAP
    return drawn
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${top}" role="img" aria-label="${escaped(title)}">`,
    `<title>${escaped(title)}</title>`,
    `<style>${style(parts.length)}</style>`,
    ...parts.map((name, index) => drawLegend(name, index)),
    ...body.flat(),
    '</svg>',
    ''
  ].join('\n')
}

function drawPanel({ title, bars }, top, unit) {
  const sum = ({ parts }) => Object.values(parts).reduce((total, value) => total + value, 0)
  const scale = (WIDTH - LABELS - VALUES) / Math.max(...bars.map(sum))
  const heading = `<text class="title" x="0" y="${top + TITLE - 10}">${escaped(title)}</text>`
  return [heading, ...bars.flatMap((bar, row) => drawBar(bar, top + TITLE + row * ROW))]

  function drawBar(bar, y) {
    const middle = y + BAR / 2 + 4
    let x = LABELS
    const drawn = Object.values(bar.parts).map((value, index) => {
      const rectangle = `<rect class="part${index}" x="${round(x)}" y="${y}" width="${round(value * scale)}" height="${BAR}"/>`
      x += value * scale
      return rectangle
    })
    const label = `<text class="label" x="${LABELS - 8}" y="${middle}">${escaped(bar.name)}</text>`
    return [label, ...drawn, `<text x="${round(x + 6)}" y="${middle}">${Math.round(sum(bar))} ${unit}</text>`]
  }
}

function drawLegend(name, index) {
  const x = LABELS + index * 110
  return `<rect class="part${index}" x="${x}" y="4" width="${BAR}" height="${BAR}"/><text x="${x + 20}" y="15">${escaped(name)}</text>`
}

function style(count) {
  const colours = (mode) =>
    Array.from({ length: count }, (_, part) => `.part${part}{fill:${COLOURS[mode][part]}}`).join('')
  return [
    'text{font:12px system-ui,sans-serif;fill:#1f2328}.title{font-weight:600}.label{text-anchor:end}',
    colours('light'),
    `@media (prefers-color-scheme:dark){text{fill:#e6edf3}${colours('dark')}}`
  ].join('')
}

const round = (value) => Math.round(value * 10) / 10
const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
