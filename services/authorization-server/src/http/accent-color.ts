import { formatHex, interpolate, wcagContrast } from 'culori'

// The surfaces of style.css, by day and by night; how much of the accent its tint holds.
const LIGHT_SURFACE = '#ffffff'
const DARK_SURFACE = '#1b211e'
const TINT = 0.07

/** Readable as text (WCAG 2.2 §1.4.3). */
const MIN_CONTRAST = 4.5

/**
 * The custom properties that put an operator's colour in place of ours. One that would be hard to read is moved towards
 * black by day and towards white by night, as far as it takes.
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
    // The tint is nearer to the accent than the surface is, so it is the harder test.
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
