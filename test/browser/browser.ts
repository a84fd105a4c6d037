import { existsSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'

const CHROMIUM = process.env.SVC_TEST_CHROMIUM ?? '/usr/bin/chromium'
const FLAGS = '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking'

/** Where there is no Chromium (`apt-get install chromium`), the browser's tests are skipped and say so. */
export const hasChromium = existsSync(CHROMIUM)

export function launch(...flags: string[]): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: [...FLAGS.split(' '), ...flags] })
}

/** Everything that a page asked for, by path. */
export function requestsOf(page: Page): string[] {
  const paths: string[] = []
  page.on('request', request => paths.push(`${request.method()} ${new URL(request.url()).pathname}`))
  return paths
}
