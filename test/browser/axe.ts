import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Violation {
  id: string
  nodes: { html: string; failureSummary: string }[]
}

/** What axe finds at fault with a page as it stands, and by how much it is wider than its window. */
export async function faultsOf(page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  const violations = await page.evaluate<Violation[]>(
    "axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations)",
  )
  const beyond = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
  return [
    ...violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`),
    ...(beyond > 0 ? [`${beyond} px wider than the window`] : []),
  ]
}

/** Waits until a page has what it shows. */
export async function settled(page: Page): Promise<void> {
  await page.locator('main > *').first().waitFor()
  await page.locator('.skeleton').first().waitFor({ state: 'detached' })
}
