/** Shells with completion. */
export type Shell = 'bash' | 'zsh' | 'fish'

// Each script runs `svc __complete` with the words up to the cursor, which prints a line for each candidate: the word,
// a tab, and a description. The single line `:files` requests file names.

const BASH = `# Completion of svc for bash. Load it with: source <(svc completion bash)
_svc() {
  local IFS=$' \\t\\n' line cut='' before="\${COMP_LINE:0:COMP_POINT}"
  local -a words found
  read -r -a words <<<"$before"
  [[ $before == *[[:space:]] ]] && words+=('')
  mapfile -t found < <("\${words[0]}" __complete "\${words[@]:1}" 2>/dev/null)
  COMPREPLY=()
  if [[ \${found[0]-} == ':files' ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "\${words[-1]}")
    return
  fi
  # bash splits a word at its colons, as in openai:standard, and completes only the part after the last one.
  [[ $COMP_WORDBREAKS == *:* && \${words[-1]} == *:* ]] && cut="\${words[-1]%:*}:"
  for line in "\${found[@]}"; do
    line="\${line%%$'\\t'*}"
    [[ -n $line ]] && COMPREPLY+=("\${line#"$cut"}")
  done
}
complete -F _svc svc`

const ZSH = `#compdef svc
# Completion of svc for zsh. Load it with: source <(svc completion zsh)
_svc() {
  local -a lines described
  local line
  lines=("\${(@f)$("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ "\${lines[1]}" == ':files' ]]; then
    _files
    return
  fi
  for line in $lines; do
    [[ -z "$line" ]] && continue
    local word="\${line%%$'\\t'*}" about=''
    [[ "$line" == *$'\\t'* ]] && about=":\${line#*$'\\t'}"
    described+=("\${word//:/\\\\:}$about")
  done
  (( \${#described} )) && _describe -V svc described
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -u }
compdef _svc svc`

const FISH = `# Completion of svc for fish. Load it with: svc completion fish | source
function __svc_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l found ($words[1] __complete $words[2..] 2>/dev/null)
  if test "$found" = ':files'
    __fish_complete_path (commandline -ct)
  else
    printf '%s\\n' $found
  end
end
complete -c svc -f -k -a '(__svc_complete)'`

export const SCRIPTS: Readonly<Record<Shell, string>> = { bash: BASH, zsh: ZSH, fish: FISH }
