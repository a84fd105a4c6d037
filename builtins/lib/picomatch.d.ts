/** The part of picomatch that is used here: https://github.com/micromatch/picomatch#api */
declare module 'picomatch' {
  interface Options {
    /** Whether wildcards match names that begin with a dot. */
    dot?: boolean
    nocase?: boolean
    /** Whether a leading `!` is an ordinary character. */
    nonegate?: boolean
  }
  export default function picomatch(pattern: string, options?: Options): (text: string) => boolean
}
