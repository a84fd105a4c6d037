// Finds memories by meaning: memory search then uses the mean of the word score and the vector score.
// With `base_url`, such as http://127.0.0.1:11434/v1, vectors come from a server with an OpenAI-compatible /embeddings
// and the key in OPENAI_API_KEY. Without it, they are computed here from parts of words, which finds "rotating" by
// "rotation".
import { definePlugin, z } from 'svc'
import { MemoryEmbeddings } from 'svc/memory'

const Answer = z.object({ data: z.array(z.object({ index: z.number(), embedding: z.array(z.number()) })) })

export default definePlugin({
  name: 'memory-embeddings',
  description: 'Finds memories by meaning.',
  config: z.object({
    base_url: z.union([z.literal(''), z.url()]).default(''),
    model: z.string().default('text-embedding-3-small'),
  }),
  setup(svc, { base_url, model }) {
    if (base_url === '') {
      svc.add(MemoryEmbeddings, { name: 'word-parts', min_score: 0.2, embed: async texts => texts.map(wordParts) })
      return
    }
    svc.add(MemoryEmbeddings, {
      name: model,
      async embed(texts, signal) {
        const { OPENAI_API_KEY: key } = svc.ports.env
        const response = await svc.ports.fetch(`${base_url.replace(/\/$/, '')}/embeddings`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...(key ? { authorization: `Bearer ${key}` } : {}) },
          body: JSON.stringify({ model, input: texts }),
          signal,
        })
        if (!response.ok) throw new Error(`the embeddings server answered with status ${response.status}`)
        const { data } = Answer.parse(await response.json())
        return data.sort((a, b) => a.index - b.index).map(({ embedding }) => embedding)
      },
    })
  },
})

/** Counts each group of three letters at the index given by its hash (FNV-1a): the same text gives the same vector. */
function wordParts(text: string): number[] {
  const vector = new Array<number>(256).fill(0)
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
    const letters = [...`^${word}$`]
    for (let at = 0; at + 3 <= letters.length; at++) {
      let hash = 0x811c9dc5
      for (const letter of letters.slice(at, at + 3)) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x01000193)
      const place = (hash >>> 8) & 255
      vector[place] = (vector[place] ?? 0) + 1
    }
  }
  return vector
}
