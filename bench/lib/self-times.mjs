/**
 * Shares of the time in a V8 profile (.cpuprofile), without idle time.
 * @returns shares from 0 to 1, largest first, of each function (self time) and of each package
 */
export function selfTimes({ nodes, samples, timeDeltas }) {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]))
  const functions = new Map()
  const packages = new Map()
  let total = 0
  for (const [index, id] of samples.entries()) {
    const { functionName, url, lineNumber } = frames.get(id)
    if (functionName === '(idle)') continue
    const time = timeDeltas[index] ?? 0
    total += time
    const place = placeOf(url)
    add(functions, `${functionName || '(anonymous)'} ${place === '' ? '' : `${place}:${lineNumber + 1}`}`.trim(), time)
    add(packages, packageOf(place) || functionName, time)
  }
  const shares = (times) =>
    [...times].map(([name, time]) => ({ name, share: time / total })).toSorted((a, b) => b.share - a.share)
  return { milliseconds: total / 1_000, functions: shares(functions), packages: shares(packages) }
}

function add(times, name, time) {
  times.set(name, (times.get(name) ?? 0) + time)
}

/** The path without the parts that differ between machines. */
function placeOf(url) {
  const installed = url.lastIndexOf('/node_modules/')
  if (installed >= 0) return url.slice(installed + '/node_modules/'.length)
  return url.replace(/^.*\/(?=(?:services|packages)\/)/, '')
}

function packageOf(place) {
  if (place.startsWith('node:')) return 'Node'
  const parts = place.split('/')
  return parts.slice(0, place.startsWith('@') || /^(?:services|packages)\//.test(place) ? 2 : 1).join('/')
}
