"""Puts libraries that only say "no device" in the place of CUDA's, of 3 GB, which PyTorch links and does not call on the processor."""
import glob, os, re, subprocess, sysconfig

site = sysconfig.get_path("purelib")
folder = site + "/nvidia/cu13/lib"
os.makedirs(folder, exist_ok=True)
# The runtime itself is a small package: it is asked whether there is a device.
cuda = re.compile("lib(cu(?!da)|nv|nccl)")
versions, functions = {}, {}
for library in glob.glob(site + "/torch/lib/*.so*"):
    said = subprocess.run(["readelf", "-dVW", "--dyn-syms", library], capture_output=True, text=True, check=True).stdout
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", said):
        versions.setdefault(name, set())
    for name, own in re.findall(r"File: (\S+)  Cnt: \d+\n((?:.*Name: .*\n)*)", said):
        versions.setdefault(name, set()).update(re.findall(r"Name: (\S+)", own))
    for name, version in re.findall(r" UND ((?:_*cu|nccl|nv)\w+)(?:@(\S+))?", said):
        functions.setdefault(version, set()).add(name)
for name, own in versions.items():
    if cuda.match(name):
        with open(folder + "/versions", "w") as file:
            file.write("".join(f"{version} {{ global: *; }};\n" for version in own) or "{ global: *; };\n")
        source = "".join(f"int {function}(void) {{ return 100; }}\n" for version in own or {""} for function in functions.get(version, ()))
        subprocess.run(["gcc", "-shared", "-nostdlib", "-w", "-xc", "-", "-o", f"{folder}/{name}", f"-Wl,-soname,{name}", f"-Wl,--version-script={folder}/versions"],
                       input=source, text=True, check=True)
