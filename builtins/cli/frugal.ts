import { constants, type NodeGCPerformanceDetail, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** A process that uses less than this share of a processor has time to spare. */
const AT_WORK = 0.5
/** By how much the heap then grows before what is old is collected again, in percent; V8 itself goes up to four times as much. */
const GROWTH = 50
/** Room of the old space that is taken and not used, by what is used of it: from here on it is tidied, and below here it is tidy. */
const UNTIDY = 0.4
const TIDY = 0.27
/** What has not become tidy by so many collections will not. */
const COLLECTIONS = 8

/**
 * Keeps the heap of a process small that is never at rest and never busy. V8 collects seldom where that costs little, and empties
 * a page of what is old only when hardly anything on it is used: a heap that lives for weeks is several times what is used of it.
 * While V8 favours size, its next collections, which go on beside the program, put together what lies scattered. All of it would
 * cost a process that does as much as it can a fifth of its work: such a one is left alone.
 */
export class Frugal {
  #spare = false
  #tidying: PerformanceObserver | undefined

  /** @param share of one processor that this process has used since the last look */
  look(share: number): void {
    const spare = share < AT_WORK
    if (spare !== this.#spare) setFlagsFromString(`--heap-growing-percent=${spare ? GROWTH : 0}`)
    this.#spare = spare
    if (!spare) this.#endTidying()
    else if (!this.#tidying && unused() >= UNTIDY) this.#tidy()
  }

  /** Leaves the heap to V8. */
  end(): void {
    this.look(1)
  }

  #tidy(): void {
    let collections = 0
    this.#tidying = new PerformanceObserver(list => {
      if (!list.getEntries().some(isOfOld)) return
      if (unused() < TIDY || ++collections >= COLLECTIONS) this.#endTidying()
    })
    this.#tidying.observe({ entryTypes: ['gc'] })
    setFlagsFromString('--optimize-for-size')
  }

  #endTidying(): void {
    if (!this.#tidying) return
    this.#tidying.disconnect()
    this.#tidying = undefined
    setFlagsFromString('--no-optimize-for-size')
  }
}

function isOfOld(entry: PerformanceEntry): boolean {
  const { detail } = entry as PerformanceEntry & { detail: NodeGCPerformanceDetail }
  return detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR
}

function unused(): number {
  const { space_size, space_used_size } = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')!
  return space_size / space_used_size - 1
}
