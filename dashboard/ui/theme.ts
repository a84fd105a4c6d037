export type Theme = 'auto' | 'light' | 'dark'

/** Returns the theme, the only setting that is stored across tabs: it is no secret. */
export function theme(): Theme {
  const kept = localStorage.getItem('theme')
  return kept === 'light' || kept === 'dark' ? kept : 'auto'
}

export function applyTheme(chosen: Theme = theme()): void {
  localStorage.setItem('theme', chosen)
  const { style } = document.documentElement
  style.colorScheme = chosen === 'auto' ? 'light dark' : chosen
  dispatchEvent(new Event('themechange'))
}
