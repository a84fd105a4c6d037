/** How far the page was scrolled at each address when it was left. */
const left = new Map<string, number>()
let isBack = false

/** Marks an entry of the history as one where the reader has been. */
const BEEN = 'been'

// The browser would do it before there is anything to scroll.
history.scrollRestoration = 'manual'
history.replaceState(BEEN, '')
window.addEventListener('hashchange', ({ oldURL }) => {
  // Refined, one is where one was.
  if (!oldURL) return
  left.set(new URL(oldURL).hash, scrollY)
  isBack = history.state === BEEN
  history.replaceState(BEEN, '')
})

/** Goes where the page is to be read from: its top, or for those who came back where they left it. */
export function scrollToPlace(): void {
  scrollTo(0, isBack ? (left.get(location.hash) ?? 0) : 0)
}
