/** As `ref` of a field that came because somebody asked for it. */
export function focusOnMount(element: HTMLElement | null): void {
  element?.focus()
}
