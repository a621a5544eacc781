import os

import torch
