import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Violation {
  id: string
  nodes: { html: string; failureSummary: string }[]
}

/** Rules whose result depends on the look: colours, and elements that scroll or are too close in a narrow window. */
const OF_LOOKS = ['color-contrast', 'target-size', 'scrollable-region-focusable']

/** Number of rows of a long list that are checked: the others are rendered by the same code. */
const MANY = 12
const WHERE = { exclude: [[`tbody tr:nth-child(n + ${MANY})`], [`li:nth-child(n + ${MANY})`]] }

/** Visible controls that are less than forty pixels high; a checkbox counts with its label. */
const SMALL = `[...document.querySelectorAll('button, .button, select, input, summary, nav a')]
  .map(each => each.closest('label:has(> input[type=checkbox])') ?? each)
  .filter(each => each.checkVisibility({ visibilityProperty: true }) && !each.closest('thead'))
  .filter(each => each.getBoundingClientRect().height < 39.5)
  .map(each => 'hard to tap: ' + each.outerHTML.slice(0, 120))`

/**
 * Returns the faults that axe finds in a page, and by how much it is wider than its window: by all rules in light mode
 * at 1600 pixels, and by the rules that depend on the look in dark mode at 400, where every control must be as large as
 * a finger. Restores the look of the page.
 */
export async function faultsOf(page: Page): Promise<string[]> {
  const before = page.viewportSize()
  if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(AXE)
  await look(page, 'light', 1600)
  const light = await findViolations(page)
  await look(page, 'dark', 400)
  const dark = [...(await findViolations(page, OF_LOOKS)), ...(await page.evaluate<string[]>(SMALL))]
  await page.emulateMedia({ colorScheme: null })
  if (before) await page.setViewportSize(before)
  return [...light, ...dark]
}

async function look(page: Page, colorScheme: 'light' | 'dark', width: number): Promise<void> {
  await page.emulateMedia({ colorScheme })
  await page.setViewportSize({ width, height: 900 })
}

async function findViolations(page: Page, rules?: readonly string[]): Promise<string[]> {
  const options = {
    resultTypes: ['violations'],
    preload: false,
    ...(rules ? { runOnly: { type: 'rule', values: rules } } : {}),
  }
  const violations = await page.evaluate<Violation[]>(
    `axe.run(${JSON.stringify(WHERE)}, ${JSON.stringify(options)}).then(({ violations }) => violations)`,
  )
  const beyond = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
  const width = page.viewportSize()?.width
  return [
    ...violations.map(({ id, nodes }) => `${id} at ${width}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`),
    ...(beyond > 0 ? [`${beyond} px wider than a window of ${width}`] : []),
  ]
}

/** Waits until a page has loaded its data. */
export async function waitUntilLoaded(page: Page): Promise<void> {
  await page.locator('main > *').first().waitFor()
  await page.locator('.skeleton').first().waitFor({ state: 'detached' })
}
