/** Path of one piece of data through the sources: the functions that were entered, in order. */
export class Walk {
  readonly name: string
  /** File and line of each function that was entered. */
  readonly #entries: { file: string; line: number }[] = []

  private constructor(name: string) {
    this.name = name
  }

  /**
   * Records the functions that are entered while `work` runs.
   * @param work called with a function that ends the recording before `work` ends
   */
  static async record(name: string, work: (end: () => void) => Promise<unknown>): Promise<Walk> {
    const walk = new Walk(name)
    globalThis.$entered = (file, line) => void walk.#entries.push({ file, line })
    const end = () => {
      globalThis.$entered = () => {}
    }
    try {
      await work(end)
    } finally {
      end()
    }
    return walk
  }

  /** Files, in the order in which they are first entered. */
  get files(): string[] {
    return [...new Set(this.#entries.map(({ file }) => file))]
  }

  get functions(): number {
    return new Set(this.#entries.map(({ file, line }) => `${file}:${line}`)).size
  }

  get entries(): number {
    return this.#entries.length
  }

  /** Number of times that the path leaves one module for another. */
  get changes(): number {
    const modules = this.#entries.map(({ file }) => moduleOf(file))
    return modules.filter((module, n) => n > 0 && module !== modules[n - 1]).length
  }

  /** Number of entries of each function, by its file and line, highest first. */
  get counts(): [place: string, entries: number][] {
    const counts = new Map<string, number>()
    for (const { file, line } of this.#entries) {
      const place = `${file}:${line}`
      counts.set(place, (counts.get(place) ?? 0) + 1)
    }
    return [...counts].sort(([, a], [, b]) => b - a)
  }

  /** Files in the order in which they are entered, each as often as the path comes to it. */
  get path(): string[] {
    const files = this.#entries.map(({ file }) => file)
    return files.filter((file, n) => file !== files[n - 1])
  }

  /** Entries in order, with consecutive entries of one file combined. */
  get steps(): string[] {
    const steps: string[] = []
    for (const { file, line } of this.#entries) {
      const last = steps.at(-1)
      if (last?.startsWith(`${file}:`)) steps[steps.length - 1] = `${last},${line}`
      else steps.push(`${file}:${line}`)
    }
    return steps
  }
}

/** Returns the folder of a module: `kernel`, `embed`, `builtins/lib` or `builtins/core/goals`. */
function moduleOf(file: string): string {
  const depth = file.startsWith('builtins/lib/') ? 2 : file.startsWith('builtins/') ? 3 : 1
  return file.split('/').slice(0, depth).join('/')
}

declare global {
  /** Called at each entry of a function, by the code that `instrument.js` inserts. */
  var $entered: (file: string, line: number) => void
}
