import { spawnSync } from 'node:child_process'
import { Cable, type Line } from './cable.ts'

let made = 0

/**
 * Network of its own for a machine's processes, joined by one link. Cutting it is like pulling out a cable:
 * data in transit is lost, and neither side is notified.
 */
class Namespace implements Line {
  readonly url: string
  /** Command prefix of programs that run in it. */
  readonly within: readonly string[]
  readonly #name: string
  readonly #cable: Cable

  private constructor(name: string, cable: Cable) {
    this.#name = name
    this.#cable = cable
    this.url = cable.url
    this.within = ['ip', 'netns', 'exec', name]
  }

  /** @param url of the database @throws Error that says why no network can be created here */
  static async open(url: string): Promise<Namespace> {
    const n = made++ % 64
    const name = `svc-${process.pid}-${n}`
    // Address range reserved for testing networks (RFC 2544).
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

/** Opens a connection to the database that can be cut: in a network of its own if permitted, else in this process. */
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
