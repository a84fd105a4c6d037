import type { Ids, Random } from '#kernel'

/** Loaded at its first use, as in `system-ports.ts`. */
const sha256 = () => process.getBuiltinModule('node:crypto').createHash('sha256')

/** Returns randomness from SHA-256 of the key: slower than a generator, but each number can be computed alone. */
export function keyedRandom(seed: number): Random {
  return {
    seed,
    number(stream, ...key) {
      const digest = sha256()
        .update(JSON.stringify([seed, stream, ...key]))
        .digest()
      return digest.readUIntBE(0, 6) / 2 ** 48
    },
  }
}

/** Returns ids from keyed randomness, so that a simulated run repeats them. */
export function keyedIds(random: Random): Ids {
  const drawn = new Map<string, number>()
  return {
    make(prefix, digits) {
      const n = (drawn.get(prefix) ?? 0) + 1
      drawn.set(prefix, n)
      return `${prefix}-${sha256().update(`${random.seed}/${prefix}/${n}`).digest('hex').slice(0, digits)}`
    },
  }
}
