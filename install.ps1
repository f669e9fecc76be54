# Installs ctxbridge for the current user of Windows, from a release: the counterpart of install.sh without a checkout.
# Windows PowerShell 5.1 or newer, and nothing else.
param(
  [string]$Prefix,
  [switch]$NoHooks,
  [switch]$Import,
  [switch]$NoImport,
  [switch]$Model,
  [switch]$NoModel,
  [switch]$Demo,
  [switch]$NoDemo,
  [string]$From,
  [string]$Version,
  [string]$Platform,
  [switch]$Help
)

# Where releases are: the address of a folder that holds SHA256SUMS and what it names (docs/installing.md).
# Empty: nothing is published yet.
$RELEASES = ''

$others = $args
# In a block of its own: `irm ADDRESS | iex` runs this in the session of whoever calls it. Half a script is no block.
& {
  Set-StrictMode -Version 2.0
  $ErrorActionPreference = 'Stop'
  # Its bar makes downloads many times slower in 5.1.
  $ProgressPreference = 'SilentlyContinue'

  $usage = @'
Usage: install.ps1 [options]

  -Prefix DIR     install DIR\bin\ctxbridge.exe (default: ~\.local)
  -NoHooks        do not register the hooks in Claude Code's settings
  -Import         archive the transcripts that are there, in the background
  -NoImport       leave them alone; without either, a terminal is asked
  -Model          download the model for search by meaning, unless the program has it
  -NoModel        do not; without either, a terminal is asked
  -Demo           show the whole demo at the end
  -NoDemo         do not, which is the default
  -From URL|DIR   take a release from there (default: $env:CTXBRIDGE_RELEASES)
  -Version V      this release, not the newest
  -Platform NAME  the binary for this system, as windows-x64-baseline
  -Help           show this text

It takes a release and checks its SHA-256. Nothing needs an administrator, and PATH is not changed. Run it again to
upgrade. Undo: ctxbridge uninstall --purge, then delete DIR\bin\ctxbridge.exe.
'@

  # Thrown with a hint and an exit code, so that `irm ADDRESS | iex` does not close the window of whoever runs it.
  function Fail([string]$Message, [string]$Hint = '', [int]$Code = 1) {
    $failure = New-Object System.Exception $Message
    $failure.Data['hint'] = $Hint
    $failure.Data['code'] = $Code
    throw $failure
  }

  function Say([string]$Text) { Write-Host $Text }

  # The name of this system among those in build/release/targets.ts.
  function Find-Platform {
    if ($Platform) { return $Platform }
    # A 32-bit PowerShell says x86 of itself, and the machine's name beside it.
    $machine = $env:PROCESSOR_ARCHITEW6432
    if (-not $machine) { $machine = $env:PROCESSOR_ARCHITECTURE }
    switch ($machine) {
      # What the processor knows cannot be read; the baseline runs everywhere.
      'AMD64' { return 'windows-x64-baseline' }
      'ARM64' { return 'windows-arm64' }
      default { Fail "there is no release for the processor $machine" 'build it from a checkout' }
    }
  }

  # An address without a slash at its end, or a full path of a folder.
  function Find-Source {
    $source = $From
    if (-not $source) { $source = $env:CTXBRIDGE_RELEASES }
    if (-not $source) { $source = $RELEASES }
    # A release that was fetched as a whole brings this script along.
    if (-not $source -and $PSScriptRoot -and (Test-Path -LiteralPath (Join-Path $PSScriptRoot 'SHA256SUMS'))) {
      $source = $PSScriptRoot
    }
    if (-not $source) {
      Fail 'no address of releases is known: none is published yet' `
        'say where one is with -From URL or -From DIR, or in CTXBRIDGE_RELEASES' 64
    }
    if ($source -match '^https://[^/@]+(/|$)' -or $source -match '^http://(localhost|127\.0\.0\.1|\[::1\])([:/]|$)') {
      return $source.TrimEnd('/')
    }
    if ($source -match '^file:///') { return ([Uri]$source).LocalPath.TrimEnd('\', '/') }
    if ($source -match '^[A-Za-z][A-Za-z0-9+.-]+://') {
      Fail "not an address to install from: $source" 'https://..., file://... or a folder' 64
    }
    return $ExecutionContext.SessionState.Path.GetUnresolvedProviderPathFromPSPath($source).TrimEnd('\', '/')
  }

  function Test-Address([string]$Source) { return $Source -match '^https?://' }

  # Gets a file of the release. Redirects are followed here, so that none leads to anything but https.
  function Get-ReleaseFile([string]$Source, [string]$Name, [string]$File) {
    if (-not (Test-Address $Source)) {
      Copy-Item -LiteralPath (Join-Path $Source $Name) -Destination $File -Force
      return
    }
    $address = [Uri]"$Source/$Name"
    for ($hop = 0; $hop -lt 6; $hop++) {
      $request = [Net.HttpWebRequest]::Create($address)
      $request.AllowAutoRedirect = $false
      $request.Timeout = 30000
      $request.ReadWriteTimeout = 30000
      $request.UserAgent = 'ctxbridge-install'
      $response = $request.GetResponse()
      try {
        $status = [int]$response.StatusCode
        if ($status -ge 300 -and $status -lt 400) {
          $next = New-Object Uri $address, $response.Headers['Location']
          if ($next.Scheme -ne 'https') { Fail "$address redirects to $next" }
          $address = $next
          continue
        }
        $output = [IO.File]::Create($File)
        try { $response.GetResponseStream().CopyTo($output) } finally { $output.Dispose() }
        if ($response.ContentLength -ge 0 -and (Get-Item -LiteralPath $File).Length -ne $response.ContentLength) {
          Fail "$address ended early" 'nothing was changed; run this again'
        }
        return
      } finally { $response.Dispose() }
    }
    Fail "$Source/$Name redirects too often"
  }

  function Get-Sum([string]$File) {
    return (Get-FileHash -LiteralPath $File -Algorithm SHA256).Hash.ToLowerInvariant()
  }

  # Names in SHA256SUMS, with their sums.
  function Read-Sums([string]$File) {
    $sums = @{}
    foreach ($line in [IO.File]::ReadAllLines($File)) {
      if ($line -cmatch '^([0-9a-f]{64}) [ *](.+)$') { $sums[$Matches[2]] = $Matches[1] }
    }
    return $sums
  }

  # The versions that the release has for a system.
  function Find-Versions([hashtable]$Sums, [string]$System) {
    $pattern = '^ctxbridge-([0-9][0-9A-Za-z.+-]*)-' + [regex]::Escape($System) + '\.exe$'
    return @($Sums.Keys | ForEach-Object { if ($_ -cmatch $pattern) { $Matches[1] } })
  }

  # Where the wanted version is, its name and its sums.
  function Find-Release([string]$Source, [string]$System, [string]$SumsFile) {
    $wanted = $Version -replace '^v', ''
    $places = @($Source)
    # Other versions than the newest lie in folders of their own.
    if ($wanted -and $Source -match '/releases/latest/download$') {
      $places += ($Source -replace '/latest/download$', "/download/v$wanted")
    } elseif ($wanted) {
      $places += "$Source/v$wanted"
    }
    $has = @()
    foreach ($place in $places) {
      try { Get-ReleaseFile $place 'SHA256SUMS' $SumsFile }
      catch {
        if ($place -ne $Source) { continue }
        Fail "cannot get SHA256SUMS from ${place}: $($_.Exception.Message)" 'nothing was changed'
      }
      $sums = Read-Sums $SumsFile
      # A release leaves the baseline out if it is the same binary.
      foreach ($name in @($System, ($System -replace '-baseline$', '')) | Select-Object -Unique) {
        $found = @(Find-Versions $sums $name)
        if ($wanted) {
          $has += $found
          $found = @($found | Where-Object { $_ -ceq $wanted })
        }
        if ($found.Count -gt 1) {
          Fail "$place has several versions: $($found -join ', ')" 'choose one with -Version'
        }
        if ($found.Count -eq 1) {
          return @{ Source = $place; Version = $found[0]; Name = "ctxbridge-$($found[0])-$name.exe"; Sums = $sums; System = $name }
        }
      }
    }
    if ($wanted) {
      $hint = ''
      if ($has.Count -gt 0) { $hint = "it has $(($has | Select-Object -Unique) -join ', ')" }
      Fail "there is no version $wanted for $System at $Source" $hint
    }
    Fail "$Source has nothing for $System" 'build it from a checkout, or choose with -Platform'
  }

  function Expand-Packed([string]$Packed, [string]$File) {
    $from = [IO.File]::OpenRead($Packed)
    try {
      $gzip = New-Object IO.Compression.GZipStream $from, ([IO.Compression.CompressionMode]::Decompress)
      $to = [IO.File]::Create($File)
      try { $gzip.CopyTo($to) } finally { $to.Dispose(); $gzip.Dispose() }
    } finally { $from.Dispose() }
  }

  # Gets the binary, with the right SHA-256, or fails.
  function Get-Binary([hashtable]$Release, [string]$Packed, [string]$Staged) {
    $name = $Release.Name
    $ownSum = $Release.Sums[$name]
    $packedSum = $Release.Sums["$name.gz"]
    $damaged = "from $($Release.Source) is not what SHA256SUMS says"
    $hint = 'nothing was changed; try again, or ask whoever publishes it'
    if ($packedSum) {
      Get-ReleaseFile $Release.Source "$name.gz" $Packed
      if ((Get-Sum $Packed) -cne $packedSum) { Fail "$name.gz $damaged" $hint }
      Expand-Packed $Packed $Staged
    } else {
      Get-ReleaseFile $Release.Source $name $Staged
    }
    if ((Get-Sum $Staged) -cne $ownSum) { Fail "$name $damaged" $hint }
  }

  # Runs what is about to be installed, so that nothing takes the place of the former one that does not run here.
  function Test-Staged([string]$Staged, [hashtable]$Release) {
    $answer = ''
    try { $answer = (& $Staged --version 2>&1 | Out-String).Trim() } catch { $answer = $_.Exception.Message }
    if ($answer -cne "ctxbridge $($Release.Version)") {
      Fail "the binary for $($Release.System) does not run here: $answer" 'nothing was changed'
    }
  }

  # Windows replaces no program that runs, but renames it. The next install or update removes what stays.
  function Move-IntoPlace([string]$Staged, [string]$Target, [string]$Kept) {
    if (-not (Test-Path -LiteralPath $Target)) {
      [IO.File]::Move($Staged, $Target)
      return
    }
    [IO.File]::Move($Target, $Kept)
    try { [IO.File]::Move($Staged, $Target) }
    catch {
      [IO.File]::Move($Kept, $Target)
      throw
    }
    try { Remove-Item -LiteralPath $Kept -Force } catch { }
  }

  # What installs and updates that were killed, or could not remove a running program, have left.
  function Remove-Left([string]$Folder) {
    foreach ($left in @(Get-ChildItem -LiteralPath $Folder -Filter '.ctxbridge.*' -Force)) {
      if ($left.Name -notmatch '^\.ctxbridge\.(?:[0-9a-f]{64}\.)?(\d+)\.(tmp\.exe|tmp|sums|part|kept)$') { continue }
      if (Get-Process -Id ([int]$Matches[1]) -ErrorAction SilentlyContinue) { continue }
      try { Remove-Item -LiteralPath $left.FullName -Force } catch { }
    }
  }

  function Invoke-Installed([string]$Target, [string[]]$Arguments, [string]$Failure, [string]$Hint) {
    & $Target @Arguments
    if ($LASTEXITCODE -ne 0) { Fail $Failure $Hint }
  }

  function Install-Ctxbridge {
    foreach ($value in @($Prefix, $From, $Version, $Platform) + $others) {
      # A word that no option takes is given to the first one that takes any.
      if ($value -like '-*') { Fail "unknown option: $value" 'install.ps1 -Help' 64 }
    }
    if ($Import -and $NoImport) { Fail '-Import and -NoImport exclude each other' 'install.ps1 -Help' 64 }
    if ($Model -and $NoModel) { Fail '-Model and -NoModel exclude each other' 'install.ps1 -Help' 64 }
    # 5.1 may still begin with TLS 1.0.
    [Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12
    $root = $Prefix
    if (-not $root) { $root = Join-Path $env:USERPROFILE '.local' }
    $bin = Join-Path $ExecutionContext.SessionState.Path.GetUnresolvedProviderPathFromPSPath($root) 'bin'
    $target = Join-Path $bin 'ctxbridge.exe'
    $system = Find-Platform
    $source = Find-Source
    try { New-Item -ItemType Directory -Path $bin -Force | Out-Null }
    catch { Fail "cannot make $bin" 'choose another place with -Prefix DIR' }
    if (Test-Path -LiteralPath $target -PathType Container) {
      Fail "$target is a folder" 'choose another place with -Prefix DIR'
    }
    Remove-Left $bin
    # All in the folder of the target, so that the last step is a rename.
    $staged = Join-Path $bin ".ctxbridge.$PID.tmp.exe"
    $packed = Join-Path $bin ".ctxbridge.$PID.part"
    $sums = Join-Path $bin ".ctxbridge.$PID.sums"
    try {
      $release = Find-Release $source $system $sums
      Say "Getting ctxbridge $($release.Version) for $($release.System) from $($release.Source)"
      Get-Binary $release $packed $staged
      Test-Staged $staged $release
      Move-IntoPlace $staged $target (Join-Path $bin ".ctxbridge.$PID.kept")
    } finally {
      foreach ($file in $staged, $packed, $sums) {
        if (Test-Path -LiteralPath $file) { Remove-Item -LiteralPath $file -Force -ErrorAction SilentlyContinue }
      }
    }
    Say "Installed  $target"
    $folders = @($env:PATH -split ';' | ForEach-Object { $_.TrimEnd('\') })
    if ($folders -contains $bin.TrimEnd('\')) {
      Say 'PATH       ok'
    } else {
      Say "PATH       this adds $bin for you, from the next terminal on:"
      $quoted = $bin.Replace("'", "''")
      Say "  [Environment]::SetEnvironmentVariable('Path', [Environment]::GetEnvironmentVariable('Path', 'User') + ';$quoted', 'User')"
    }
    # It prints the last four lines: what is imported, which model there is, what to restart, what to try.
    if (-not $NoHooks) {
      $arguments = @('install', '--quiet')
      if ($Import) { $arguments += '--import' }
      if ($NoImport) { $arguments += '--no-import' }
      if ($Model) { $arguments += '--model' }
      if ($NoModel) { $arguments += '--no-model' }
      Invoke-Installed $target $arguments 'the hooks are not registered' "the program is installed; then run: $target install"
    }
    if ($Demo -and -not $NoDemo) {
      Invoke-Installed $target @('demo') 'the demo failed' "run: $target doctor"
    }
  }

  # Each would turn the binary into something else; what was set comes back at the end.
  $cleared = @{}
  foreach ($name in 'BUN_OPTIONS', 'BUN_BE_BUN', 'BUN_INSPECT', 'BUN_INSPECT_CONNECT_TO') {
    $cleared[$name] = [Environment]::GetEnvironmentVariable($name)
    [Environment]::SetEnvironmentVariable($name, $null)
  }
  $code = 0
  try {
    if ($Help) { Say $usage } else { Install-Ctxbridge }
  } catch {
    $failure = $_.Exception
    [Console]::Error.WriteLine("install.ps1: $($failure.Message)")
    if ($failure.Data['hint']) { [Console]::Error.WriteLine("hint: $($failure.Data['hint'])") }
    $code = 1
    if ($failure.Data['code']) { $code = $failure.Data['code'] }
  } finally {
    foreach ($name in $cleared.Keys) { [Environment]::SetEnvironmentVariable($name, $cleared[$name]) }
  }
  # A script that was piped into `iex` has no file, and `exit` would close the window.
  if ($PSCommandPath) { exit $code }
  if ($code -ne 0) { Write-Error "ctxbridge was not installed" -ErrorAction Continue }
}
