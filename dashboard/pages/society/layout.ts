/** Position of a node. */
export interface Point {
  x: number
  y: number
}

export interface Link {
  /** Indices in the list of nodes. */
  from: number
  to: number
  /** Strength of the pull, from 0 to 1. */
  weight: number
}

/** Maximum number of pairs computed: about a tenth of a second on a small machine, for any number of nodes. */
const PAIRS = 3_000_000
const FEWEST = 80
const MOST = 250
/** Golden angle, as in sunflower seeds: nodes start apart, and always in the same places. */
const GOLDEN = Math.PI * (3 - Math.sqrt(5))
/** Pull to the middle, so that unconnected parts stay in sight. */
const GRAVITY = 0.3
const LARGEST_SCALE = 1.5
/** Minimum distance between two nodes if there is space. */
const APART = 56
const SPREADING = 40

/**
 * Computes a force-directed layout (Fruchterman and Reingold 1991, with a pull to the middle). It is deterministic.
 * @param before earlier places of nodes, so that the picture moves little when one is added
 * @returns points within the given width and height, in the order of the nodes
 */
export function layout(
  count: number,
  links: readonly Link[],
  { width, height, margin }: { width: number; height: number; margin: number },
  before: readonly (Point | undefined)[] = [],
): Point[] {
  const ideal = Math.sqrt((width * height) / Math.max(1, count)) * 0.7
  const xs = new Float64Array(count)
  const ys = new Float64Array(count)
  for (let n = 0; n < count; n++) {
    const radius = 0.45 * Math.sqrt((n + 0.5) / count)
    xs[n] = before[n]?.x ?? width * (0.5 + radius * Math.cos(n * GOLDEN))
    ys[n] = before[n]?.y ?? height * (0.5 + radius * Math.sin(n * GOLDEN))
  }
  const known = before.filter(Boolean).length
  const rounds = Math.min(MOST, Math.max(FEWEST, Math.floor(PAIRS / Math.max(1, count * count))))
  // Nodes with an earlier place are moved only a little.
  const heat = (width / 8) * (known > count / 2 ? 0.15 : 1)
  const dx = new Float64Array(count)
  const dy = new Float64Array(count)
  for (let round = 0; round < rounds; round++) {
    dx.fill(0)
    dy.fill(0)
    repel(xs, ys, dx, dy, ideal)
    for (const { from, to, weight } of links) {
      const [x, y] = [xs[from]! - xs[to]!, ys[from]! - ys[to]!]
      const pull = (Math.hypot(x, y) / ideal) * (0.35 + 0.65 * weight)
      dx[from]! -= x * pull
      dy[from]! -= y * pull
      dx[to]! += x * pull
      dy[to]! += y * pull
    }
    const step = heat * (1 - round / rounds)
    for (let n = 0; n < count; n++) {
      // The pull is stronger along the shorter side, so that the picture fills its frame.
      dx[n]! += (width / 2 - xs[n]!) * GRAVITY * (height / width)
      dy[n]! += (height / 2 - ys[n]!) * GRAVITY
      const length = Math.hypot(dx[n]!, dy[n]!) || 1
      const move = Math.min(length, step) / length
      xs[n]! += dx[n]! * move
      ys[n]! += dy[n]! * move
    }
  }
  const frame = { width, height, margin }
  const points = fitPoints(
    Array.from(xs, (x, n) => ({ x, y: ys[n]! })),
    frame,
  )
  return spread(points, frame, Math.min(APART, ideal * 0.75))
}

function repel(xs: Float64Array, ys: Float64Array, dx: Float64Array, dy: Float64Array, ideal: number): void {
  for (let a = 0; a < xs.length; a++) {
    for (let b = a + 1; b < xs.length; b++) {
      // Two nodes at the same place are separated by their order.
      const x = xs[a]! - xs[b]! || 0.01 * (b - a)
      const y = ys[a]! - ys[b]! || 0.01
      const push = (ideal * ideal) / (x * x + y * y)
      dx[a]! += x * push
      dy[a]! += y * push
      dx[b]! -= x * push
      dy[b]! -= y * push
    }
  }
}

/** Moves overlapping nodes apart, as far as they fit into the frame. */
function spread(
  points: Point[],
  { width, height, margin }: { width: number; height: number; margin: number },
  apart: number,
): Point[] {
  for (let round = 0; round < SPREADING; round++) {
    let moved = false
    for (let a = 0; a < points.length; a++) {
      const one = points[a]!
      for (let b = a + 1; b < points.length; b++) {
        const other = points[b]!
        let [x, y] = [one.x - other.x, one.y - other.y]
        if (x * x + y * y >= apart * apart) continue
        if (Math.abs(x) + Math.abs(y) < 1) [x, y] = [Math.cos(GOLDEN * (a + b)), Math.sin(GOLDEN * (a + b))]
        const by = (apart / Math.hypot(x, y) - 1) / 2
        one.x = within(one.x + x * by, margin, width - margin)
        one.y = within(one.y + y * by, margin, height - margin)
        other.x = within(other.x - x * by, margin, width - margin)
        other.y = within(other.y - y * by, margin, height - margin)
        moved = true
      }
    }
    if (!moved) break
  }
  return points
}

/** Scales the picture to its frame, up to a limit if there are few nodes. */
function fitPoints(
  points: Point[],
  { width, height, margin }: { width: number; height: number; margin: number },
): Point[] {
  const along = (of: (point: Point) => number, size: number) => {
    const [low, high] = [Math.min(...points.map(of)), Math.max(...points.map(of))]
    const scale = Math.min(LARGEST_SCALE, (size - 2 * margin) / Math.max(1, high - low))
    return (point: Point) => size / 2 + (of(point) - (low + high) / 2) * scale
  }
  const [x, y] = [along(point => point.x, width), along(point => point.y, height)]
  return points.map(point => ({ x: x(point), y: y(point) }))
}

const within = (value: number, low: number, high: number) => Math.min(high, Math.max(low, value))
