import { spawnSync } from 'node:child_process'
import { Cable, type Line } from './cable.ts'

let made = 0

/**
 * A network of its own for a machine's processes, joined to this one's by one line, which is cut as if someone pulled it out:
 * what is on its way is gone, and neither side is notified.
 */
class Namespace implements Line {
  readonly url: string
  /** What a command line begins with that is run in there. */
  readonly within: readonly string[]
  readonly #name: string
  readonly #cable: Cable

  private constructor(name: string, cable: Cable) {
    this.#name = name
    this.#cable = cable
    this.url = cable.url
    this.within = ['ip', 'netns', 'exec', name]
  }

  /** @param url of the database @throws Error that says why none can be made here */
  static async open(url: string): Promise<Namespace> {
    const n = made++ % 64
    const name = `svc-${process.pid}-${n}`
    // Of the block that is kept for trying networks out (RFC 2544).
    const [here, there] = [1, 2].map(side => `198.18.${process.pid % 256}.${4 * n + side}`)
    try {
      ip('netns', 'add', name)
      ip('link', 'add', name, 'type', 'veth', 'peer', 'name', 'line', 'netns', name)
      ip('address', 'add', `${here}/30`, 'dev', name)
      ip('link', 'set', name, 'up')
      ip('-n', name, 'address', 'add', `${there}/30`, 'dev', 'line')
      ip('-n', name, 'link', 'set', 'line', 'up')
      return new Namespace(name, await Cable.open(url, here))
    } catch (error) {
      spawnSync('ip', ['netns', 'delete', name])
      throw error
    }
  }

  cut(): void {
    ip('link', 'set', this.#name, 'down')
  }

  mend(): void {
    ip('link', 'set', this.#name, 'up')
  }

  close(): void {
    this.#cable.close()
    ip('netns', 'delete', this.#name)
  }
}

/** A line to the database that can be cut: in a network of its own where this process may make one, else as good as that goes. */
export async function lineTo(url: string): Promise<Line> {
  try {
    return await Namespace.open(url)
  } catch (error) {
    console.warn(`Networks are cut in this process instead of in the system: ${(error as Error).message}`)
    return Cable.open(url)
  }
}

function ip(...words: string[]): void {
  const { error, status, stderr } = spawnSync('ip', words, { encoding: 'utf8' })
  if (error || status !== 0) throw new Error(`ip ${words.join(' ')}: ${error?.message ?? stderr.trim()}`)
}
