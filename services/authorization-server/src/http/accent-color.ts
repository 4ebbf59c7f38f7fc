import { formatHex, interpolate, wcagContrast } from 'culori'

// The surface colours of style.css in light and dark mode, and the share of the accent colour in a tint.
const LIGHT_SURFACE = '#ffffff'
const DARK_SURFACE = '#1b211e'
const TINT = 0.07

/** Readable as text (WCAG 2.2 §1.4.3). */
const MIN_CONTRAST = 4.5

/**
 * The custom properties that replace our accent colour by the operator's. A colour with too little contrast is mixed with
 * black in light mode and with white in dark mode, until the contrast is high enough.
 */
export function accentProperties(color: string): string {
  return `
:root {
  ${properties(color, LIGHT_SURFACE, '#000000')}
}
@media (prefers-color-scheme: dark) {
  :root {
    ${properties(color, DARK_SURFACE, '#ffffff')}
  }
}
`
}

function properties(color: string, surface: string, towards: string): string {
  const accent = readable(color, surface, towards)
  const ink = wcagContrast('#ffffff', accent) >= wcagContrast('#000000', accent) ? '#ffffff' : '#000000'
  return `--accent: ${accent}; --accent-ink: ${ink}; --tint: ${tintOf(accent, surface)};`
}

function readable(color: string, surface: string, towards: string): string {
  for (let share = 0; share < 1; share += 0.05) {
    const moved = between(color, towards, share)
    // The tint is closer to the accent than the surface is, so its contrast is the lower of the two.
    if (wcagContrast(moved, tintOf(moved, surface)) >= MIN_CONTRAST) return moved
  }
  return towards
}

function tintOf(accent: string, surface: string): string {
  return between(surface, accent, TINT)
}

function between(color: string, towards: string, share: number): string {
  return formatHex(interpolate([color, towards], 'rgb')(share)) ?? color
}
