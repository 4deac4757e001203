--- uPlot draws the report's curves. Its files come unmodified from its npm package. To update, run
--- `npm pack uplot`, copy the three files, and enter their checksums here.

return {
    version = "1.6.32",
    source = "https://www.npmjs.com/package/uplot",
    script = "uPlot.iife.min.js", -- dist/ of the package
    style = "uPlot.min.css", -- dist/ of the package
    license = "uPlot.LICENSE", -- LICENSE of the package
    sha256 = {
        ["uPlot.iife.min.js"] = "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
        ["uPlot.min.css"] = "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
        ["uPlot.LICENSE"] = "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
    },
}
