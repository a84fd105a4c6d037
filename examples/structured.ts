// Structured answers: a zod schema in, a typed object out, with one repair if the first answer does not fit.
// Run it with: npx tsx structured.ts; it needs a model, such as one set by OPENAI_API_KEY or OPENAI_BASE_URL.
import { Agent, StructuredParseError, z } from 'svc'

const Invoice = z.object({
  from: z.string(),
  due: z.iso.date(),
  lines: z.array(z.object({ what: z.string(), euros: z.number().positive() })).min(1),
})

const agent = new Agent({ instructions: 'You read letters and say what is in them; you add nothing.' })
const [letter = 'Two bolts at 3 euros each, please by the first of May 2027. Ada & Sons'] = process.argv.slice(2)

try {
  const { from, due, lines } = await agent.parse(letter, Invoice)
  const sum = lines.reduce((total, { euros }) => total + euros, 0)
  console.log(`${from} gets ${sum} euros by ${due}`)
} catch (error) {
  if (!(error instanceof StructuredParseError)) throw error
  console.log(`${error.message} The model said: ${error.raw}`)
}
