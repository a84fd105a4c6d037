import { constants, type NodeGCPerformanceDetail, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** By how much the heap of a frugal process grows before what is old is collected again, in percent; else up to four times as much. */
const GROWTH = 20
/** Share of the old space that is taken and unused: at or above it the heap is compacted, below it all is well. */
const UNTIDY = 0.4
const TIDY = 0.27
/** Number of collections after which compacting is given up. */
const COLLECTIONS = 8

/**
 * Keeps the heap of a process small that is at work all the time and has time to spare. V8 collects seldom where that costs
 * little, and empties a page of what is old only when hardly anything on it is used: a heap that lives for weeks is several times
 * what is used of it. While V8 favours size, its next collections, which go on beside the program, put together what lies
 * scattered.
 */
export class Frugal {
  #isOn = false
  #tidying: PerformanceObserver | undefined

  /** @param spare whether there is time to spare: a process that does as much as it can would lose a fifth of its work */
  look(spare: boolean): void {
    if (spare !== this.#isOn) setFlagsFromString(`--heap-growing-percent=${spare ? GROWTH : 0}`)
    this.#isOn = spare
    if (!spare) this.#endTidying()
    else if (!this.#tidying && unusedHeap() >= UNTIDY) this.#tidy()
  }

  #tidy(): void {
    let collections = 0
    this.#tidying = new PerformanceObserver(list => {
      if (!list.getEntries().some(isOfOld)) return
      if (unusedHeap() < TIDY || ++collections >= COLLECTIONS) this.#endTidying()
    })
    this.#tidying.observe({ entryTypes: ['gc'] })
    setFlagsFromString('--optimize-for-size')
  }

  #endTidying(): void {
    if (!this.#tidying) return
    this.#tidying.disconnect()
    this.#tidying = undefined
    setFlagsFromString('--no-optimize-for-size')
    // The one flag implied the other, and V8 refuses what it compiled under other flags.
    setFlagsFromString('--max-semi-space-size=0')
  }
}

function isOfOld(entry: PerformanceEntry): boolean {
  const { detail } = entry as PerformanceEntry & { detail: NodeGCPerformanceDetail }
  return detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR
}

function unusedHeap(): number {
  const { space_size, space_used_size } = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')!
  return space_size / space_used_size - 1
}
