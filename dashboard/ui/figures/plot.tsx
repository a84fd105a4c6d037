import { useEffect, useRef } from 'preact/hooks'
import uPlot, { type AlignedData, type Options } from 'uplot'

export interface Line {
  label: string
  /** Custom property of the stylesheet, such as `--accent`. */
  color: string
  values: readonly (number | null)[]
  fill?: boolean
  dashed?: boolean
}

interface PlotProps {
  label: string
  /** Seconds since 1970. */
  times: readonly number[]
  lines: readonly Line[]
  /** Formats a value. */
  write?: (value: number) => string
  range?: [number, number]
  height?: number
}

/** Resolves a custom property to a colour that a canvas accepts. */
function colorOf(name: string): string {
  const probe = document.body.appendChild(document.createElement('i'))
  probe.style.color = `var(${name})`
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

/** Possible distances between marks of a value, short enough for their labels: `1.25M` would be rounded. */
const APART = Array.from({ length: 24 }, (_, n) => [1, 2, 5].map(of => Number(`${of}e${n - 12}`))).flat()
/** Minimum number of seconds shown around the middle: an axis of few seconds repeats its labels, and one of none shows years. */
const AROUND_S = 60
/** Height of the axis: exactly that of the labels under a plot. */
const AXIS_PX = 30
const DAY_S = 86_400
const hours = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
const seconds = new Intl.DateTimeFormat('en', { timeStyle: 'medium', hourCycle: 'h23' })
const days = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric' })

/** Formats time marks as precisely as they are apart; each day is named where it begins. */
function timesOf(_: uPlot, marks: number[], __: number, ___: number, apart: number): string[] {
  const write = apart >= DAY_S ? days : apart >= 60 ? hours : seconds
  return marks.map((mark, n) => {
    const at = mark * 1000
    const day = days.format(at)
    const isNew = write === hours && n > 0 && day !== days.format(marks[n - 1]! * 1000)
    return isNew ? day : write.format(at)
  })
}

const isShort = (times: readonly number[]) => times.length > 0 && times.at(-1)! - times[0]! < 2 * AROUND_S

function aroundMiddle(times: readonly number[]): [number, number] {
  const middle = (times[0]! + times.at(-1)!) / 2
  return [middle - AROUND_S, middle + AROUND_S]
}

/** Lines over time, with the last value of each as a text alternative. */
export function Plot({ label, times, lines, write = String, range, height = 180 }: PlotProps) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = place.current!
    let plot: uPlot | undefined
    const draw = () => {
      plot?.destroy()
      const axis = { stroke: colorOf('--soft'), grid: { stroke: colorOf('--line'), width: 1 }, ticks: { show: false } }
      const options: Options = {
        width: Math.max(element.clientWidth, 120),
        height,
        cursor: { y: false },
        legend: { live: true, markers: { width: 0, fill: (_, at) => colorOf(lines[at - 1]?.color ?? '--ink') } },
        scales: {
          ...(range ? { y: { range } } : {}),
          ...(isShort(times) ? { x: { range: aroundMiddle(times) } } : {}),
        },
        axes: [
          { ...axis, size: AXIS_PX, values: timesOf },
          { ...axis, size: 64, incrs: APART, values: (_, ticks) => ticks.map(write) },
        ],
        series: [
          {},
          ...lines.map(({ label, color, fill, dashed, values }) => ({
            label,
            stroke: colorOf(color),
            width: 1.5,
            points: { show: times.length < 3 },
            value: (_: uPlot, at: number | null, __: number, index: number | null) => {
              const value = index === null ? values.findLast(each => each !== null) : at
              return typeof value === 'number' ? write(value) : '–'
            },
            ...(fill ? { fill: `color-mix(in srgb, ${colorOf(color)} 14%, transparent)` } : {}),
            ...(dashed ? { dash: [6, 5] } : {}),
          })),
        ],
      }
      plot = new uPlot(options, [times, ...lines.map(({ values }) => values)] as unknown as AlignedData, element)
    }
    draw()
    const resized = new ResizeObserver(() => plot?.setSize({ width: Math.max(element.clientWidth, 120), height }))
    resized.observe(element)
    addEventListener('themechange', draw)
    const dark = matchMedia('(prefers-color-scheme: dark)')
    dark.addEventListener('change', draw)
    return () => {
      resized.disconnect()
      removeEventListener('themechange', draw)
      dark.removeEventListener('change', draw)
      plot?.destroy()
    }
  }, [times, lines, height])
  const last = lines.map(({ label, values }) => `${label} ${write(values.findLast(value => value !== null) ?? 0)}`)
  return (
    <figure class="plot">
      <div ref={place} aria-hidden="true" />
      <figcaption class="unseen">
        {label}. Latest: {last.join(', ')}.
      </figcaption>
    </figure>
  )
}
