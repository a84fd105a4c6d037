import { costs, figures } from '../spec/guardrails/measure.ts'

/** What the guardrails find in generated texts, and what that costs. */
export async function guardrails(): Promise<void> {
  const { lines } = await figures()
  console.log(['guardrails', ...lines, ...(await costs())].join('\n'))
}
