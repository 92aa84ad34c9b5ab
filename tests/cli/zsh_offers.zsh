# Prints what zsh offers for each begun command line among the arguments, one a line below the command line itself.
# Runs in a folder that holds the completion script _attn-cli; zsh completes on a terminal only, so one is made for it.
zmodload zsh/zpty
# While a command of the shell runs, the terminal itself would clear the line at ^U, before the shell has seen it.
zpty shell 'stty kill undef; TERM=xterm exec zsh -f -i'

# Sends a line and waits until it has been worked off: what was typed shows the mark with quotes in it.
answer() {
  zpty -n -w shell "$1 print MA''RK"$'\n'
  zpty -r shell reply '*MARK*'
}

answer 'PROMPT=; fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D; bindkey "^I" list-choices;'
# All matches go through compadd, which says on request which ones they are.
answer 'compadd() {
  local -a matches
  if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
    builtin compadd -A matches "$@"
    [[ -n $matches ]] && print -rl -- "<offer>"${^matches}"</offer>"
  fi
  builtin compadd "$@"
};'

for line in "$@"; do
  print -r -- "$line"
  # After the tabulator the line is cleared.
  zpty -n -w shell "$line"$'\t\025'
  answer
  print -r -- "$reply" | tr -d '\r' | grep -ao '<offer>[^<]*' | sed 's/<offer>//' | LC_ALL=C sort -u
done
zpty -d shell
