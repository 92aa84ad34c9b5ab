// All tests of the page in one process, so that one browser does for them.
import './texts.test.mjs';
import './opening.test.mjs';
import './map.test.mjs';
import './heads.test.mjs';
import './other_views.test.mjs';
import './true_pictures.test.mjs';
import './text_line.test.mjs';
import './compared_maps.test.mjs';
import './options.test.mjs';
import './files.test.mjs';
import './everyone.test.mjs';
import './picture.test.mjs';
import './program.test.mjs';
