import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { access, setAccess } from '../api/access.ts'

/** Form for the key and the tenant. Opens by itself when the server refuses the key. */
export function AccessForm({ wanted }: { wanted: boolean }) {
  const details = useRef<HTMLDetailsElement>(null)
  const [isTried, setTried] = useState(access().key !== '')
  useEffect(() => {
    const panel = details.current!
    panel.open = wanted
    // What the reader types elsewhere is not interrupted.
    if (wanted && document.activeElement === document.body) panel.querySelector('input')?.focus()
  }, [wanted])
  useEffect(() => {
    const panel = details.current!
    const onPointer = ({ target }: Event) => {
      if (!panel.contains(target as Node)) panel.open = false
    }
    const onKey = ({ key }: KeyboardEvent) => {
      if (key !== 'Escape' || !panel.open) return
      if (panel.contains(document.activeElement)) panel.querySelector('summary')?.focus()
      panel.open = false
    }
    document.addEventListener('pointerdown', onPointer)
    document.addEventListener('keydown', onKey)
    return () => {
      document.removeEventListener('pointerdown', onPointer)
      document.removeEventListener('keydown', onKey)
    }
  }, [])
  const use = (event: SubmitEvent) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    setAccess({ key: String(form.get('key')).trim(), tenant: String(form.get('tenant')).trim() })
    setTried(form.get('key') !== '')
    // A wanted key closes the panel once it is accepted; the next refusal may come before this is shown.
    if (!wanted) details.current!.open = false
  }
  // Set as a property, not as an attribute, so that the key never appears in the page's markup.
  const fillField = (name: 'key' | 'tenant') => (field: HTMLInputElement | null) => {
    if (field && field.value === '') field.value = access()[name]
  }
  return (
    <details class="access" ref={details}>
      <summary>Access</summary>
      <form onSubmit={use}>
        {wanted && (
          <p class={isTried ? 'trouble' : 'hint'}>
            {isTried ? 'The key is wrong.' : 'Type the service’s key: the value of server.api_key or SVC_API_KEY.'}
          </p>
        )}
        <label>
          Key
          <input
            name="key"
            type="password"
            autocomplete="off"
            spellcheck={false}
            ref={useCallback(fillField('key'), [])}
          />
        </label>
        <label>
          Tenant
          <input
            name="tenant"
            autocomplete="off"
            spellcheck={false}
            placeholder="default"
            pattern="[A-Za-z0-9._@\-]{1,128}"
            title="Use letters, digits and . _ @ -"
            ref={useCallback(fillField('tenant'), [])}
          />
        </label>
        <button type="submit" class={wanted ? 'primary' : ''}>
          Apply
        </button>
        <p class="hint">The key is stored in this tab only.</p>
      </form>
    </details>
  )
}
