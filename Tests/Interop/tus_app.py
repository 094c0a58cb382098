"""tuspyserver as a program for uvicorn. What is uploaded is kept in the folder that TUS_FOLDER names."""

import os

from fastapi import FastAPI
from tuspyserver import create_tus_router

app = FastAPI()
app.include_router(create_tus_router(prefix="files", files_dir=os.environ["TUS_FOLDER"], max_size=1 << 30))
